-- Replies true and false, and one false for two reasons.
if redis.call('SISMEMBER', 'seckill:order:' .. ARGV[1], ARGV[2]) == 1 then
  return false
end
local stock = tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1]))
if stock <= 0 then
  return false
end
redis.call('DECRBY', 'seckill:stock:' .. ARGV[1], 1)
redis.call('SADD', 'seckill:order:' .. ARGV[1], ARGV[2])
return true
