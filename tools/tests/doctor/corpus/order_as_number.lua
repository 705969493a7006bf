-- Two order ids beyond 2^53 become one.
if tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. ARGV[1])
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id',
  tonumber(ARGV[3]))
return 0
