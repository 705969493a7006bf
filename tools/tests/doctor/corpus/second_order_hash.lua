-- The order is a hash of its own. KEYS: stock, buyers. ARGV: user, order, price.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', 'order:' .. ARGV[2], 'user', ARGV[1], 'price', ARGV[3])
return 0
