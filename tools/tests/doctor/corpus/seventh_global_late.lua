if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then return 1 end
redis.call('DECR', KEYS[1])
sold = true
return 0
