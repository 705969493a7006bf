stockKey = 'seckill:stock:' .. ARGV[1]
orderKey = 'seckill:order:' .. ARGV[1]
if tonumber(redis.call('get', stockKey)) <= 0 then return 1 end
if redis.call('sismember', orderKey, ARGV[2]) == 1 then return 2 end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, ARGV[2])
return 0
