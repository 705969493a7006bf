redis.call('UNLINK', KEYS[1])
return 1
