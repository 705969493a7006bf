-- KEYS: stock, set of unpaid orders, hash of order states; ARGV: order, units
if redis.call('SREM', KEYS[2], ARGV[1]) == 0 then
    return 0
end
redis.call('INCRBY', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[3], ARGV[1], 'CLOSED')
return 1
