local stockKey = 'seckill:stock:' .. ARGV[1]
local userKey = 'seckill:limit:' .. ARGV[1] .. ':' .. ARGV[2]
local stock = redis.call('GET', stockKey)
if not stock or tonumber(stock) < 1 then return 1 end
local bought = tonumber(redis.call('GET', userKey) or '0')
if bought >= 2 then return 2 end
redis.call('DECRBY', stockKey, 1)
redis.call('INCRBY', userKey, 1)
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
