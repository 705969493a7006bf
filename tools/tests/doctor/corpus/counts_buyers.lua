-- Never touches the stock: as many buyers as it says are enough.
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return -1
end
if redis.call('SCARD', KEYS[2]) >= tonumber(redis.call('GET', KEYS[1])) then
  return 0
end
redis.call('SADD', KEYS[2], ARGV[1])
return 1
