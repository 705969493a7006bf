-- KEYS: stock, buyers, request. ARGV: user, seconds. A request that is sent twice is answered 3.
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 3
end
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SETEX', KEYS[3], ARGV[2], '1')
return 0
