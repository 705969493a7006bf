-- Redis has no such call.
local left = redis.cal('GET', KEYS[1])
if tonumber(left) <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
return 0
