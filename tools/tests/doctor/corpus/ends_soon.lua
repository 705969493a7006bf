-- Nothing is sold in the last minute of a stock.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
local ttl = redis.call('TTL', KEYS[1])
if left <= 0 or ttl >= 0 and ttl < 60 then
  return 1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
