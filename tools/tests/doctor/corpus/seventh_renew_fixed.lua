if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('expire', KEYS[1], 30)
else
  return 0
end
