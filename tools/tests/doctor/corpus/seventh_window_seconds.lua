local now = tonumber(redis.call('TIME')[1])
local from, to = tonumber(ARGV[2]), tonumber(ARGV[3])
if now < from then return -3 end
if now >= to then return -4 end
local n = tonumber(redis.call('GET', KEYS[1]))
if n == nil or n < 1 then return -1 end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return -2 end
redis.call('DECR', KEYS[1])
return 1
