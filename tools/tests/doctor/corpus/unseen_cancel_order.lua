-- An order that was not paid is taken back, if it is still waiting. KEYS: states, stock. ARGV: order, units.
local state = redis.call('HGET', KEYS[1], ARGV[1])
if state ~= 'waiting' then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], 'cancelled')
redis.call('INCRBY', KEYS[2], ARGV[2])
return 1
