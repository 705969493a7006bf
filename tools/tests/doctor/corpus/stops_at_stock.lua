if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
