local left = tonumber(redis.call('HGET', KEYS[1], 'stock'))
if not left then
  return -1
end
if left <= 0 then
  return 0
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return -2
end
redis.call('HINCRBY', KEYS[1], 'stock', -1)
redis.call('SADD', KEYS[2], ARGV[1])
return 1
