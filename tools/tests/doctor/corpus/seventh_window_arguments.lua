local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now < tonumber(ARGV[4]) then return 3 end
if now > tonumber(ARGV[5]) then return 4 end
local stock = 'seckill:stock:' .. ARGV[1]
local buyers = 'seckill:order:' .. ARGV[1]
if tonumber(redis.call('GET', stock) or '0') <= 0 then return 1 end
if redis.call('SISMEMBER', buyers, ARGV[2]) == 1 then return 2 end
redis.call('DECR', stock)
redis.call('SADD', buyers, ARGV[2])
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
