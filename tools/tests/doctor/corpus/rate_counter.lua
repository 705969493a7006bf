-- A user may try ARGV[2] times a minute. KEYS: rate, stock, buyers. ARGV: user, limit.
local tries = tonumber(redis.call('GET', KEYS[1]) or '0')
if tries >= tonumber(ARGV[2]) then
  return 'SLOW DOWN'
end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
if tonumber(redis.call('GET', KEYS[2]) or 0) < 1 then
  return 'SOLD OUT'
end
if redis.call('SADD', KEYS[3], ARGV[1]) == 0 then
  return 'AGAIN'
end
redis.call('DECR', KEYS[2])
return 'OK'
