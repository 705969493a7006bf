-- The last unit sets a flag. KEYS: stock, flag.
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return 0
end
n = redis.call('DECR', KEYS[1])
if n == 0 then
  redis.call('SET', KEYS[2], 'closed')
end
return 1
