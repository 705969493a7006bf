-- What was reserved is sold. KEYS: reserved, sold, reservation.
local units = redis.call('GET', KEYS[3])
if not units then
  return 0
end
redis.call('DECRBY', KEYS[1], units)
redis.call('INCRBY', KEYS[2], units)
redis.call('DEL', KEYS[3])
return 1
