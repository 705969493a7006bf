-- Somebody's share of a red packet. KEYS: packets, taken, who. ARGV: user.
if redis.call('HEXISTS', KEYS[3], ARGV[1]) ~= 0 then
  return nil
end
local packet = redis.call('RPOP', KEYS[1])
if packet then
  redis.call('HSET', KEYS[3], ARGV[1], 1)
  redis.call('LPUSH', KEYS[2], packet)
  return packet
end
return nil
