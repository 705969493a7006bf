local n = redis.call('GET', 'stock:' .. ARGV[1])
if n and tonumber(n) <= 0 then
  return 1
end
if redis.call('SADD', 'users:' .. ARGV[1], ARGV[2]) == 0 then
  return 2
end
redis.call('DECR', 'stock:' .. ARGV[1])
return 0
