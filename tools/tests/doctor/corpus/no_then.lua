local left = redis.call('GET', KEYS[1])
if tonumber(left) > 0
  redis.call('DECR', KEYS[1])
end
return 0
