-- A stock of -1 never runs out.
local stock = tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1]))
if stock ~= -1 and stock <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
if stock > 0 then
  redis.call('DECR', 'seckill:stock:' .. ARGV[1])
end
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
