-- Takes the user for the order id.
local voucher, user, order = ARGV[1], ARGV[2], ARGV[2]
if tonumber(redis.call('GET', 'seckill:stock:' .. voucher)) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. voucher, user) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. voucher)
redis.call('SADD', 'seckill:order:' .. voucher, user)
redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 0
