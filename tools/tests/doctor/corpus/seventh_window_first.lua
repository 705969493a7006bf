local now = tonumber(redis.call('TIME')[1])
local voucherId, userId, orderId = ARGV[1], ARGV[2], ARGV[3]
local beginTime, endTime = tonumber(ARGV[4]), tonumber(ARGV[5])
if beginTime > now then return 3 end
if endTime < now then return 4 end
local stockKey, orderKey = 'seckill:stock:' .. voucherId, 'seckill:order:' .. voucherId
if (tonumber(redis.call('get', stockKey)) <= 0) then return 1 end
if (redis.call('sismember', orderKey, userId) == 1) then return 2 end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, userId)
redis.call('xadd', 'stream.orders', '*', 'userId', userId, 'voucherId', voucherId, 'id', orderId)
return 0
