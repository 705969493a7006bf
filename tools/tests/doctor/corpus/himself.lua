-- Nobody buys of himself.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 or ARGV[1] == ARGV[2] then
  return 1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
