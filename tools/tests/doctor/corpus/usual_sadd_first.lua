-- SADD is the question.
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return 'SOLD_OUT'
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 'DUPLICATE'
end
redis.call('DECR', KEYS[1])
return 'SUCCESS'
