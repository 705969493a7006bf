-- Tells whether the token was among those that waited, which is a key that no other call writes.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'not yours'
end
redis.call('DEL', KEYS[1])
return redis.call('SREM', KEYS[2], ARGV[1])
