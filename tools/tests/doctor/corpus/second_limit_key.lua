-- The limit per user is in a key. KEYS: stock, limit, counts. ARGV: user.
local most = tonumber(redis.call('GET', KEYS[2]) or '1')
local had = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or '0')
if had >= most then
  return 2
end
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n < 1 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('HINCRBY', KEYS[3], ARGV[1], 1)
return 0
