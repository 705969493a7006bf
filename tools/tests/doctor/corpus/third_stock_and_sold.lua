-- Counts what was sold beside the stock. KEYS: stock, buyers, sold. ARGV: user.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 'NO'
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 'TWICE'
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('INCR', KEYS[3])
return 'YES'
