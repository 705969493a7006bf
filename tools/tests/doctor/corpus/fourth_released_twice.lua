-- Gives a unit back, once for each order. KEYS: stock, released. ARGV: order.
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 0
end
redis.call('INCR', KEYS[1])
return 1
