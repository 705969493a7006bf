-- Pays from a balance in cents. KEYS: from, to. ARGV: cents.
local cents = tonumber(ARGV[1])
local have = tonumber(redis.call('GET', KEYS[1]) or '0')
if have < cents then
  return 0
end
redis.call('DECRBY', KEYS[1], cents)
redis.call('INCRBY', KEYS[2], cents)
return 1
