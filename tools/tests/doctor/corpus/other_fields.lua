local orderId, voucherId, userId = ARGV[3], ARGV[2], ARGV[1]
local stock = 'seckill:stock:' .. voucherId
local buyers = 'seckill:order:' .. voucherId
local left = redis.call('get', stock)
if not left or tonumber(left) <= 0 then return 1 end
if redis.call('sismember', buyers, userId) == 1 then return 2 end
redis.call('incrby', stock, -1)
redis.call('sadd', buyers, userId)
redis.call('xadd', 'stream.orders', '*', 'userId', userId, 'voucherId', voucherId, 'orderId', orderId)
return 0
