local voucher, user, order, at = unpack(ARGV)
local stock = 'seckill:stock:' .. voucher
if tonumber(redis.call('get', stock)) <= 0 then
  return 1
end
if redis.call('sismember', 'seckill:order:' .. voucher, user) == 1 then
  return 2
end
redis.call('incrby', stock, -1)
redis.call('sadd', 'seckill:order:' .. voucher, user)
redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order, 'at', at)
return 0
