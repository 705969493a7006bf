-- Its argument is JSON with an object in it.
local order = cjson.decode(ARGV[1])
local stock = 'seckill:stock:' .. order.sale.voucher
if tonumber(redis.call('GET', stock) or '0') <= 0 then
  return 1
end
redis.call('DECR', stock)
return 0
