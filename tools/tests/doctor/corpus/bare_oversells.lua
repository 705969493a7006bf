local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
