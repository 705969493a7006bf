-- KEYS: stock, buyers, ARGV: user, trace id
if redis.call('SETNX', 'trace:' .. ARGV[2], '1') == 0 then return -3 end
redis.call('EXPIRE', 'trace:' .. ARGV[2], 60)
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return -2 end
local n = tonumber(redis.call('GET', KEYS[1]))
if n == nil or n <= 0 then return -1 end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 1
