local req = cjson.decode(ARGV[1])
local left = tonumber(redis.call('GET', 'stock:' .. req.skuId) or 0)
if left < req.quantity then return 0 end
redis.call('DECRBY', 'stock:' .. req.skuId, req.quantity)
return 1
