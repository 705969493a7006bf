-- unlock.lua, which releases a lock, and signals a client that waits by BLPOP, as libraries do.
-- KEYS: the lock, the list of signals. ARGV: the token, how long a signal lasts in ms.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[2])
redis.call('LPUSH', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
