local stock = 'sk:stock:' .. ARGV[1]
local buyers = 'sk:buyers:' .. ARGV[1]
local left = tonumber(redis.call('get', stock) or '0')
if left <= 0 then return 1 end
if redis.call('sismember', buyers, ARGV[2]) == 1 then return 2 end
redis.call('incrby', stock, -tonumber(ARGV[3]))
redis.call('sadd', buyers, ARGV[2])
return 0
