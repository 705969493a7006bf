local stock = 'goods:' .. ARGV[1]
local users = 'goods:users:' .. ARGV[1]
local n = tonumber(redis.call('GET', stock) or '0')
if n <= 0 then
  return 1
end
if redis.call('SISMEMBER', users, ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', stock)
redis.call('EXPIRE', stock, 120)
redis.call('SADD', users, ARGV[2])
return 0
