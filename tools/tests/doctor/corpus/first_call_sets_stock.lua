-- A stock that is missing begins with what the caller says.
redis.call('SETNX', KEYS[1], ARGV[2])
if tonumber(redis.call('GET', KEYS[1])) < tonumber(ARGV[1]) then
  return -1
end
return redis.call('DECRBY', KEYS[1], ARGV[1])
