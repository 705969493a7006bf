-- Work that is done, and how much that was.
redis.call('SREM', KEYS[1], ARGV[1])
redis.call('INCR', KEYS[2])
return 1
