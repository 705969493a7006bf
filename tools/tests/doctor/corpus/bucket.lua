-- A field says when the bucket was last used.
local left = tonumber(redis.call('HGET', KEYS[1], 'left') or '5')
local since = redis.call('HGET', KEYS[1], 'since')
if left < 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'left', left - 1)
redis.call('HSET', KEYS[1], 'since', ARGV[1])
return 1
