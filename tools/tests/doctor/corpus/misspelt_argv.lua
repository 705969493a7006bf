local stock = 'stock:' .. ARGV[1]
if tonumber(redis.call('GET', stock) or '0') <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'users:' .. ARGV[1], AVGV[2]) == 1 then
  return 2
end
redis.call('DECR', stock)
redis.call('SADD', 'users:' .. ARGV[1], ARGV[2])
return 0
