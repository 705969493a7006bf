-- Only who was invited may buy. KEYS: invited, stock, buyers. ARGV: user.
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then
  return 5
end
if tonumber(redis.call('GET', KEYS[2]) or '0') <= 0 then
  return 1
end
if redis.call('SADD', KEYS[3], ARGV[1]) == 0 then
  return 2
end
redis.call('DECR', KEYS[2])
return 0
