-- Tells a lock that is gone from a lock of another.
local holder = redis.call('GET', KEYS[1])
if not holder then
  return -1
end
if holder ~= ARGV[1] then
  return 0
end
redis.call('UNLINK', KEYS[1])
return 1
