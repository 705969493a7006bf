-- Sold out is -1, and the units left are replied: no two meanings. KEYS: stock, buyers, switch.
if redis.call('GET', KEYS[3]) == '0' then
  return -3
end
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return -1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return -2
end
return redis.call('DECR', KEYS[1])
