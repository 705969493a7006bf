if redis.call('GET', KEYS[1]) - 1 >= '0' then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
