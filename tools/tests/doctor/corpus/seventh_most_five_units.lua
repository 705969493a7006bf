local n, left = tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or '0')
if n > 5 then return -2 end
if left < n then return 0 end
redis.call('DECRBY', KEYS[1], n)
return 1
