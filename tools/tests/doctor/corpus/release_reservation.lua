local units = redis.call('HGET', KEYS[2], ARGV[1])
if not units then
  return 0
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('INCRBY', KEYS[1], units)
return tonumber(units)
