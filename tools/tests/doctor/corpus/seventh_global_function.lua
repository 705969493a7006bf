function left(key) return tonumber(redis.call('GET', key) or '0') end
if left(KEYS[1]) < 1 then return 1 end
redis.call('DECR', KEYS[1])
return 0
