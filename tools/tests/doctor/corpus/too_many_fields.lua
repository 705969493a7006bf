-- HGET reads one field alone.
local sale = redis.call('HGET', KEYS[1], 'state', 'left')
if sale[1] ~= 'open' then
  return -1
end
return redis.call('HINCRBY', KEYS[1], 'left', -1)
