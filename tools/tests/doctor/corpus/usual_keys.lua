local left = tonumber(redis.call('GET', KEYS[1]))
if not left or left <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[3], '*', 'buyer', ARGV[1], 'goods', ARGV[2], 'orderNo', ARGV[3])
return 0
