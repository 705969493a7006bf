-- The units that there were, or 0: a bare stock.
local n = tonumber(redis.call('GET', KEYS[1]))
if not n then
  return -1
end
if n <= 0 then
  return 0
end
redis.call('DECR', KEYS[1])
return n
