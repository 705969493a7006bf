-- Other names, other fields, another order of arguments, and sold out without a stock.
-- ARGV: user, order id, voucher.
local stock = redis.call('GET', 'shop:left:' .. ARGV[3])
if not stock or tonumber(stock) <= 0 then
  return 1
end
local buyers = 'shop:sold:' .. ARGV[3]
if redis.call('SISMEMBER', buyers, ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', 'shop:left:' .. ARGV[3])
redis.call('SADD', buyers, ARGV[1])
redis.call('XADD', 'shop.orders', '*', 'buyer', ARGV[1], 'item', ARGV[3], 'order', ARGV[2])
return 0
