-- A bundle: the main item and its gift. KEYS: both stocks.
local a = tonumber(redis.call('GET', KEYS[1]) or '0')
local b = tonumber(redis.call('GET', KEYS[2]) or '0')
if a < 1 or b < 1 then
  return 0
end
redis.call('DECR', KEYS[1])
redis.call('DECR', KEYS[2])
return 1
