-- Counts a try, and keeps a mark until the end. ARGV: now, end.
redis.call('INCR', KEYS[1])
redis.call('SETEX', KEYS[2], ARGV[2] - ARGV[1], '1')
return 1
