-- Takes first, and puts back what was not there.
local s = redis.call('DECRBY', KEYS[1], ARGV[1])
if s < 0 then
  redis.call('INCRBY', KEYS[1], ARGV[1])
  return 0
end
return 1
