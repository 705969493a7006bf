-- Its arguments can't be counted by looking.
local voucher, user = unpack(ARGV)
if tonumber(redis.call('GET', 'seckill:stock:' .. voucher)) <= 0 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. voucher, user) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. voucher)
redis.call('SADD', 'seckill:order:' .. voucher, user)
return 0
