-- Replies the units left, and 0 for sold out.
local stock = tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1]) or '0')
if stock <= 0 then
  return 0
end
if redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2]) == 0 then
  return -1
end
redis.call('DECR', 'seckill:stock:' .. ARGV[1])
return stock - 1
