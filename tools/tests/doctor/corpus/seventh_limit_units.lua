local stock = 'buy:stock:' .. ARGV[1]
local users = 'buy:users:' .. ARGV[1]
local n = tonumber(ARGV[3])
local left = tonumber(redis.call('GET', stock) or '0')
if left < n then return 1 end
local had = tonumber(redis.call('HGET', users, ARGV[2]) or '0')
if had + n > 2 then return 2 end
redis.call('DECRBY', stock, n)
redis.call('HINCRBY', users, ARGV[2], n)
return 0
