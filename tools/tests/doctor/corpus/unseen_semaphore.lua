-- Gives a permit back, never more than there are. KEYS: permits. ARGV: most.
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= tonumber(ARGV[1]) then
  return 0
end
return redis.call('INCR', KEYS[1])
