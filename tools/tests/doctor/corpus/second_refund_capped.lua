-- Gives back, never above the total. KEYS: stock, total. ARGV: units.
local n = tonumber(redis.call('GET', KEYS[1]) or '0') + tonumber(ARGV[1])
local most = tonumber(redis.call('GET', KEYS[2]) or '0')
if n > most then
  n = most
end
redis.call('SET', KEYS[1], n)
return n
