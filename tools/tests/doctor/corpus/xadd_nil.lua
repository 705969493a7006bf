-- The order id was to be a local of another name.
local voucherId, userId = ARGV[1], ARGV[2]
local order = {}
local stockKey = 'seckill:stock:' .. voucherId
local orderKey = 'seckill:order:' .. voucherId
if tonumber(redis.call('get', stockKey)) <= 0 then
  return 1
end
if redis.call('sismember', orderKey, userId) == 1 then
  return 2
end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, userId)
redis.call('xadd', 'stream.orders', '*', 'userId', userId, 'voucherId', voucherId, 'id', order.id)
return 0
