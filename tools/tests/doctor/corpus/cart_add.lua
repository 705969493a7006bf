local had = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if had + tonumber(ARGV[2]) > 99 then
  return -1
end
return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])
