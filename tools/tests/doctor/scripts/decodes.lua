-- Its argument is JSON: nobody can guess the fields.
local order = cjson.decode(ARGV[1])
local stock = 'seckill:stock:' .. order.voucher
if tonumber(redis.call('GET', stock) or '0') <= 0 then
  return 1
end
redis.call('DECR', stock)
return 0
