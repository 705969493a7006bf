-- As many as the caller says may be sold before they are there.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= -tonumber(ARGV[2]) then
  return 0
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 1
