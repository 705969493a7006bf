else
    redis.call('decr', stockKey)
    redis.call('sadd', orderKey, userId)
