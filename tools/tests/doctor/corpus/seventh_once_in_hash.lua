local qt = 'sk:' .. ARGV[1] .. ':qt'
local usr = 'sk:' .. ARGV[1] .. ':usr'
if redis.call('HEXISTS', usr, ARGV[2]) == 1 then return 2 end
if tonumber(redis.call('GET', qt) or '0') <= 0 then return 1 end
redis.call('DECR', qt)
redis.call('HSET', usr, ARGV[2], ARGV[3])
return 0
