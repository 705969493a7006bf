-- Tells how many waiters heard that the lock is free.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return redis.call('PUBLISH', 'free', KEYS[1])
end
return -1
