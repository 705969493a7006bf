if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
local n = redis.call('INCRBY', KEYS[1], -1)
if n < 0 then
  return 1
end
redis.call('SADD', KEYS[2], ARGV[1])
return 0
