-- unlock.lua in our own words. KEYS: the lock. ARGV: the token.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
