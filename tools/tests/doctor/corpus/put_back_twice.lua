-- Cancels an order: its unit goes back into the stock.
redis.call('INCR', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
return 1
