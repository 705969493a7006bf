-- Orders that were not paid in time. KEYS: deadlines. ARGV: now.
local late = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 10)
if #late > 0 then
  redis.call('ZREM', KEYS[1], unpack(late))
end
return late
