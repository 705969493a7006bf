if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
local left = redis.call('DECRBY', KEYS[1], ARGV[1])
return left < 0 and -1 or left
