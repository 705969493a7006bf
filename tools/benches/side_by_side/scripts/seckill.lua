-- seckill.lua in our own words: the reference for an unmanaged voucher.
-- ARGV: voucher, user, order id. Replies 0 (sold), 1 (sold out) or 2 (already bought).
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local stock = 'seckill:stock:' .. voucher
local buyers = 'seckill:order:' .. voucher

if tonumber(redis.call('GET', stock)) <= 0 then
  return 1
end
if redis.call('SISMEMBER', buyers, user) == 1 then
  return 2
end
redis.call('INCRBY', stock, -1)
redis.call('SADD', buyers, user)
redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 0
