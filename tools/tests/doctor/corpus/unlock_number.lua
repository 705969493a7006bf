-- Compares tokens as numbers.
local held = redis.call('GET', KEYS[1])
if held and tonumber(held) == tonumber(ARGV[1]) then
  return redis.call('DEL', KEYS[1])
end
return 0
