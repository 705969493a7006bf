-- Its reply is the number of buyers.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return -1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return redis.call('SCARD', KEYS[2])
