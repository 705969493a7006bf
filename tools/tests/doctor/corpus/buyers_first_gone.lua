-- Asks the buyers first; without a stock there is nothing for anybody else.
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
local left = redis.call('GET', KEYS[1])
if not left or tonumber(left) <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 0
