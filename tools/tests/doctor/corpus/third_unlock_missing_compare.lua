-- Releases the lock; the token is read and not compared.
local token = redis.call('get', KEYS[1])
if token and ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
