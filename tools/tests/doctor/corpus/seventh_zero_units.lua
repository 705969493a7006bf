-- checks that something is left, takes as many as are asked for
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 then return 0 end
redis.call('DECRBY', KEYS[1], ARGV[1])
return 1
