-- Replies the units that are left, and sells a stock of -1 without end.
-- ARGV: voucher, user.
local stock = redis.call('GET', 'seckill:stock:' .. ARGV[1])
if not stock then
  return -3
end
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return -2
end
stock = tonumber(stock)
if stock <= 0 then
  return -1
end
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
return redis.call('DECR', 'seckill:stock:' .. ARGV[1])
