-- Counts visitors beside the sale.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then return 0 end
redis.call('PFADD', KEYS[2], ARGV[1])
redis.call('DECR', KEYS[1])
return 1
