-- Deletes the keys that a list names, which is never empty.
return redis.call('UNLINK', unpack(redis.call('LRANGE', KEYS[1], 0, -1)))
