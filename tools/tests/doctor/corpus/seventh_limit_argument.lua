local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 then return 1 end
local mine = tonumber(redis.call('GET', KEYS[2] .. ':' .. ARGV[1]) or '0')
if mine >= tonumber(ARGV[2]) then return 2 end
redis.call('DECR', KEYS[1])
redis.call('INCR', KEYS[2] .. ':' .. ARGV[1])
return 0
