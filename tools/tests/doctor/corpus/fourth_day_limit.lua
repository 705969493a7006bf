-- At most so many a day. KEYS: stock, day, buyers. ARGV: user, most.
local sold = tonumber(redis.call('GET', KEYS[2]) or '0')
if sold >= tonumber(ARGV[2]) then
  return 4
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[3], ARGV[1])
if redis.call('INCR', KEYS[2]) == 1 then
  redis.call('EXPIRE', KEYS[2], 86400)
end
return 0
