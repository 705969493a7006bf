-- The units are passed among the keys.
local left = redis.call('GET', KEYS[1])
if not left or tonumber(left) < tonumber(KEYS[2]) then
  return 0
end
redis.call('DECRBY', KEYS[1], KEYS[2])
return 1
