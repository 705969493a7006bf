local left = tonumber(redis.call('GET', KEYS[1]) or '0')
local n = tonumber(ARGV[2])
if left < n then return 0 end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return -1 end
redis.call('DECRBY', KEYS[1], n)
redis.call('XADD', 'log', '*', 'user', ARGV[1], 'units', ARGV[2], 'left', 'x')
return 1
