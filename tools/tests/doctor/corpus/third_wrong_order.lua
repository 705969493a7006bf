-- The value where the key belongs.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left > 0 then
  redis.call('DECR', KEYS[1])
  redis.call('EXPIRE', KEYS[1], os.time() + 10)
  return 1
end
return 0
