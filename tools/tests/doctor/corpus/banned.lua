-- Looks at a list of banned users.
if redis.call('ZCOUNT', 'banned:' .. ARGV[2], '-inf', '+inf') > 0 then
  return 3
end
if tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. ARGV[1])
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
return 0
