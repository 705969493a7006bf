local voucher = ARGV[1]
local stock = redis.call('GET', 'seckill:stock:' .. voucherId)
if tonumber(stock) <= 0 then
  return 1
end
redis.call('DECR', 'seckill:stock:' .. voucher)
return 0
