-- A field without a value: the last step fails when the others are done.
if tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. ARGV[1])
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id')
return 0
