-- Takes first and looks afterwards.
local s = redis.call('DECR', KEYS[1])
if s < 0 then
  return -1
end
return 1
