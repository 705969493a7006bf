-- The buyers first, then takes, and puts back what was not there.
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 'BOUGHT'
end
if redis.call('DECR', KEYS[1]) < 0 then
  redis.call('INCR', KEYS[1])
  return 'EMPTY'
end
redis.call('SADD', KEYS[2], ARGV[1])
return 'OK'
