local n = tonumber(ARGV[2])
local had = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
if had >= tonumber(ARGV[3]) then return -2 end
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left < n then return -1 end
redis.call('DECRBY', KEYS[1], n)
redis.call('HINCRBY', KEYS[2], ARGV[1], n)
return 1
