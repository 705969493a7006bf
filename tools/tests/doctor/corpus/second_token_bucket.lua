-- A token bucket. KEYS: bucket. ARGV: rate, most, now, wanted.
local rate, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local now, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(state[1]) or most
local at = tonumber(state[2]) or now
tokens = math.min(most, tokens + math.max(0, now - at) * rate)
local ok = tokens >= wanted
if ok then
  tokens = tokens - wanted
end
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('EXPIRE', KEYS[1], 60)
return ok and 1 or 0
