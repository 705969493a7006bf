-- Takes the unit before it asks.
local n = redis.call('DECR', KEYS[1])
if n < 0 then
  redis.call('INCR', KEYS[1])
  return 1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 2
end
return 0
