-- Users are the same whose names differ by the case of letters.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if redis.call('SADD', KEYS[2], string.lower(ARGV[1])) == 0 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
