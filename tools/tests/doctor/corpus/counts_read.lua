-- One message fewer is unread; the number before is for a log.
local before = redis.call('GET', KEYS[1])
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], 'before', before)
return 1
