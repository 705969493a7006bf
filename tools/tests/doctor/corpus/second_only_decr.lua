return redis.call('DECR', KEYS[1])
