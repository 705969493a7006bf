if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 0
end
redis.call('DECR', KEYS[1])
redis.call('PUBLISH', 'sold')
return 1
