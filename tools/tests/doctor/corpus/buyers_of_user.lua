-- Remembers buyers by user where it means the voucher.
local stock = 'seckill:stock:' .. ARGV[1]
local buyers = 'seckill:order:' .. ARGV[2]
if tonumber(redis.call('GET', stock)) <= 0 then
  return 1
end
if redis.call('SISMEMBER', buyers, ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', stock)
redis.call('SADD', buyers, ARGV[2])
return 0
