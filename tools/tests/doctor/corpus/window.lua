-- A sale with a begin and an end, which the application keeps in a hash.
local now = tonumber(ARGV[3])
if now < tonumber(redis.call('HGET', KEYS[3], 'begin_at') or '0') then
  return 3
end
if now > tonumber(redis.call('HGET', KEYS[3], 'end_at') or '0') then
  return 4
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
if tonumber(redis.call('GET', KEYS[1]) or '0') < 1 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('XADD', 'orders', '*', 'user', ARGV[1], 'item', KEYS[1], 'id', ARGV[2])
return 0
