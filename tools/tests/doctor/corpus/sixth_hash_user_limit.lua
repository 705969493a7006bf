local stock = tonumber(redis.call('HGET', KEYS[1], 'stock') or 0)
if stock <= 0 then return 1 end
local had = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or 0)
if had >= tonumber(ARGV[2]) then return 2 end
redis.call('HINCRBY', KEYS[1], 'stock', -1)
redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
return 0
