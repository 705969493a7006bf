return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])
