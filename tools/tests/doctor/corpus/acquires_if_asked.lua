-- One word lets it take a lock that is free.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] or ARGV[3] == 'new' and not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0
