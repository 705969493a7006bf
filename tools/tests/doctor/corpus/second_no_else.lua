local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n > 0 and redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then
  redis.call('DECR', KEYS[1])
  redis.call('SADD', KEYS[2], ARGV[1])
  return 1
end
