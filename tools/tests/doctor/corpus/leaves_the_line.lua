-- Tells whether somebody waited under a name that is made here, in a key that no other call writes.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return -1
end
redis.call('DEL', KEYS[1])
return redis.call('ZREM', KEYS[2], 'waits:' .. ARGV[1])
