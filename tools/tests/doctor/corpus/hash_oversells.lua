local left = tonumber(redis.call('HGET', KEYS[1], 'left') or '0')
if left < 0 then
  return 1
end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('HINCRBY', KEYS[1], 'left', -1)
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 0
