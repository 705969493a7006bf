if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then
  return redis.call('HLEN', KEYS[1])
end
return -1
