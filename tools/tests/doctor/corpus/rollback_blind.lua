redis.call('incrby', 'seckill:stock:' .. ARGV[1], 1)
redis.call('srem', 'seckill:order:' .. ARGV[1], ARGV[2])
return 0
