-- A switch that the shop sets. KEYS: stock, buyers, status. ARGV: user.
if redis.call('GET', KEYS[3]) ~= 'open' then
  return -1
end
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('DECR', KEYS[1])
return 0
