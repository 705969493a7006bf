-- Sells without a stream: the application writes the order by itself.
local voucher = ARGV[1]
local user = ARGV[2]
local stock = 'seckill:stock:' .. voucher
local buyers = 'seckill:order:' .. voucher

if tonumber(redis.call('get', stock)) <= 0 then
  return 1
end
if redis.call('sismember', buyers, user) == 1 then
  return 2
end
redis.call('incrby', stock, -1)
redis.call('sadd', buyers, user)
return 0
