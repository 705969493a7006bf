return redis.call('LOCK.RELEASE', KEYS[1], ARGV[1])
