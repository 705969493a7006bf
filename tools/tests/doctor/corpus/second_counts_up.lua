-- Units sold against a total. KEYS: sold. ARGV: total.
local sold = tonumber(redis.call('GET', KEYS[1]) or '0')
if sold >= tonumber(ARGV[1]) then
  return 0
end
redis.call('INCR', KEYS[1])
return 1
