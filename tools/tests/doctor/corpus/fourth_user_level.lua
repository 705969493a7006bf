-- Members of a level may buy more. KEYS: stock, levels, counts. ARGV: user.
local level = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '1')
local had = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or '0')
if had >= level then
  return -2
end
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return -1
end
redis.call('HINCRBY', KEYS[3], ARGV[1], 1)
redis.call('DECR', KEYS[1])
return n - 1
