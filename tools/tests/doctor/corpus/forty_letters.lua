-- Of a user, the first 40 letters count.
local user = string.sub(ARGV[1], 1, 40)
if redis.call('SISMEMBER', KEYS[2], user) == 1 then
  return 2
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], user)
return 0
