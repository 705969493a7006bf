local stockKey = KEYS[1]
local userKey = KEYS[2]
local orderId = redis.call('GET', 'order:id:' .. ARGV[2])
local stock = redis.call('GET', stockKey)
if not stock or tonumber(stock) < 1 then
    return 1
end
if redis.call('SISMEMBER', userKey, ARGV[1]) == 1 then
    return 2
end
redis.call('DECR', stockKey)
redis.call('SADD', userKey, ARGV[1])
redis.call('XADD', 'orders', '*', 'user', ARGV[1], 'order', ARGV[3] .. orderid)
return 0
