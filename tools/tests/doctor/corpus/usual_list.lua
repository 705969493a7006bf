-- The order goes into a list as text.
local left = tonumber(redis.call('GET', 'goods:stock:' .. ARGV[1]) or '0')
if left < 1 then
  return -1
end
if redis.call('SISMEMBER', 'goods:buyers:' .. ARGV[1], ARGV[2]) == 1 then
  return -2
end
redis.call('DECR', 'goods:stock:' .. ARGV[1])
redis.call('SADD', 'goods:buyers:' .. ARGV[1], ARGV[2])
redis.call('LPUSH', 'goods:orders', ARGV[1] .. ':' .. ARGV[2])
return 1
