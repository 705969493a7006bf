-- Five tries for each user, then the sale. KEYS: tries, stock, buyers. ARGV: user.
if redis.call('INCR', KEYS[1]) > 5 then return -1 end
if tonumber(redis.call('GET', KEYS[2]) or '0') <= 0 then return 1 end
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 1 then return 2 end
redis.call('DECR', KEYS[2])
redis.call('SADD', KEYS[3], ARGV[1])
return 0
