-- Makes the order id itself.
if tonumber(redis.call('GET', 'left:' .. ARGV[1]) or '0') <= 0 then
  return 0
end
if redis.call('SISMEMBER', 'who:' .. ARGV[1], ARGV[2]) == 1 then
  return -1
end
redis.call('DECR', 'left:' .. ARGV[1])
redis.call('SADD', 'who:' .. ARGV[1], ARGV[2])
local id = redis.call('INCR', 'order:next')
redis.call('XADD', 'orders', '*', 'id', id, 'user', ARGV[2], 'goods', ARGV[1])
return id
