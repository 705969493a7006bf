-- A lock of a writer is a string, and one of readers a set.
if redis.call('TYPE', KEYS[1]).ok == 'set' then
  return redis.call('SREM', KEYS[1], ARGV[1])
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
