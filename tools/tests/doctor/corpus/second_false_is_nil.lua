local n = redis.call('get', KEYS[1])
if n == false then
  return -1
end
if tonumber(n) == 0 then
  return 1
end
if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('decrby', KEYS[1], 1)
redis.call('sadd', KEYS[2], ARGV[1])
return 0
