local n = tonumber(redis.call('get', KEYS[1]))
if n and n > 0 then
  return redis.call('decr', KEYS[1])
end
return 0
