if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[1], 'free')
  return { 'OK' }
else
  return { 'NO' }
end
return redis.call('DECR', KEYS[1])
