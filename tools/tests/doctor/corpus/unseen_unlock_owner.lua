-- Tells what it did by a text.
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 'released'
elseif owner then
  return 'of another'
end
return 'free'
