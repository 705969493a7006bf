-- The end is looked at and the stock is not.
local stop = redis.call('GET', KEYS[2])
if not stop or tonumber(ARGV[2]) > tonumber(stop) then
  return -1
end
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 1 then
  return 2
end
local left = redis.call('GET', KEYS[1])
if not left then
  return -2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[3], ARGV[1])
return 0
