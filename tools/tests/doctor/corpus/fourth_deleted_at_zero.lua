-- A stock of nothing is deleted. KEYS: stock.
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return 0
end
if n == 1 then
  redis.call('DEL', KEYS[1])
else
  redis.call('DECR', KEYS[1])
end
return 1
