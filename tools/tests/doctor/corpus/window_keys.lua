-- KEYS: begin, end, stock, buyers. ARGV: now, user.
local now = tonumber(ARGV[1])
local from = redis.call('GET', KEYS[1])
local to = redis.call('GET', KEYS[2])
if not from or now < tonumber(from) then
  return 3
end
if not to or now >= tonumber(to) then
  return 4
end
if tonumber(redis.call('GET', KEYS[3]) or '0') <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', KEYS[3])
redis.call('SADD', KEYS[4], ARGV[2])
return 0
