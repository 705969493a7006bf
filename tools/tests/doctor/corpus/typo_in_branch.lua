-- Only a repeat gets to the typo.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return retrun_code
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 0
