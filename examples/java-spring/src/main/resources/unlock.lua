-- KEYS: the lock. ARGV: the token. Deletes the lock if it is its owner's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
