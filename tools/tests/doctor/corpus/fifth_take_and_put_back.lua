local qty = tonumber(ARGV[1])
local left = redis.call('DECRBY', KEYS[1], qty)
if left < 0 then
    redis.call('INCRBY', KEYS[1], qty)
    return -1
end
return left
