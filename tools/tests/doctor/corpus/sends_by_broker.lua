-- The application sends the order by a message, with the id that it also passes here.
local item, buyer, order_id = ARGV[1], ARGV[2], ARGV[3]
if tonumber(redis.call('GET', 'seckill:stock:' .. item) or '0') < 1 then
  return 1
end
if redis.call('SISMEMBER', 'seckill:order:' .. item, buyer) == 1 then
  return 2
end
redis.call('DECR', 'seckill:stock:' .. item)
redis.call('SADD', 'seckill:order:' .. item, buyer)
return 0
