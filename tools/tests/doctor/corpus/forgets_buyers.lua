-- Looks for buyers in the voucher's set, and adds them to the user's.
if tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
redis.call('SET', 'seckill:stock:' .. ARGV[1], redis.call('GET', 'seckill:stock:' .. ARGV[1]) - 1)
redis.call('SADD', 'seckill:order:' .. ARGV[2], ARGV[1])
return 0
