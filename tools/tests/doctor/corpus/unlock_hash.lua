-- unlock: the lock is a hash of its owner
if redis.call('HEXISTS', KEYS[1], ARGV[1]) then
  redis.call('DEL', KEYS[1])
  return 1
end
return 0
