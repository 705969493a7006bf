local id, uid = KEYS[1], ARGV[1]
local qt = 'sk:' .. id .. ':qt'
local usr = 'sk:' .. id .. ':usr'
if redis.call('SISMEMBER', usr, uid) == 1 then return -1 end
local left = tonumber(redis.call('GET', qt) or 0)
if left < 1 then return 0 end
redis.call('DECR', qt)
redis.call('SADD', usr, uid)
redis.call('XADD', 'sk:orders', '*', 'uid', uid, 'sku', id)
return 1
