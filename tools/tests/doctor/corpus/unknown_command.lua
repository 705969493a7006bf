if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then
  redis.call('DECREMENT', KEYS[1])
  return 1
end
return redis.call('GETT', KEYS[1])
