-- Is given a token and does not compare it.
local token = ARGV[1]
if token and redis.call('GET', KEYS[1]) then
  return redis.call('DEL', KEYS[1])
end
return 0
