if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 0
end
local again = redis.call('SISMEMBER', KEYS[2], ARGV[1])
if again then
  return -1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 1
