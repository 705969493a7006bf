local n = tonumber(ARGV[3])
local left = tonumber(redis.call('GET', 'left:' .. ARGV[1]) or '0')
if left < n then return 1 end
local orders = tonumber(redis.call('HGET', 'orders:' .. ARGV[1], ARGV[2]) or '0')
if orders >= 2 then return 2 end
redis.call('DECRBY', 'left:' .. ARGV[1], n)
redis.call('HINCRBY', 'orders:' .. ARGV[1], ARGV[2], 1)
return 0
