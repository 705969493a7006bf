-- Sets units aside under an id that the caller makes. KEYS: stock. ARGV: units, uuid, seconds.
local want = tonumber(ARGV[1])
local have = tonumber(redis.call('GET', KEYS[1]))
if have == nil then
  return -1
end
if have < want then
  return 0
end
redis.call('DECRBY', KEYS[1], want)
redis.call('SET', 'hold:' .. ARGV[2], want, 'EX', ARGV[3])
return 1
