-- At most 50 units in a call.
if tonumber(ARGV[2]) > 50 then
  return 1
end
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[2]) then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('DECRBY', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
return 0
