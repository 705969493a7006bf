-- ARGV[1] = {"userId":"..","voucherId":"..","orderId":".."}
local msg = cjson.decode(ARGV[1])
local stockKey = 'seckill:stock:' .. msg.voucherId
local orderKey = 'seckill:order:' .. msg.voucherId
if tonumber(redis.call('get', stockKey)) <= 0 then
    return 1
end
if redis.call('sismember', orderKey, msg.userId) == 1 then
    return 2
end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, msg.userId)
redis.call('xadd', 'stream.orders', '*', 'userId', msg.userId, 'voucherId', msg.voucherId, 'id', msg.orderId)
return 0
