-- Requests of the last minute. KEYS: stock, requests. ARGV: request, now.
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, tonumber(ARGV[2]) - 60000)
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  return 2
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
return 0
