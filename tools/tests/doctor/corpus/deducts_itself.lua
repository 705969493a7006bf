-- The rules of SECKILL.DEDUCT: -1 is unlimited, and the reply is the stock before.
local left = redis.call('GET', KEYS[1])
if not left then
  return -1
end
left = tonumber(left)
if left == -1 then
  return 1
end
if left <= 0 then
  return 0
end
redis.call('DECR', KEYS[1])
return left
