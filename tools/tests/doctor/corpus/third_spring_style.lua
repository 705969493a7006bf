-- KEYS[1] 库存, KEYS[2] 用户
local stockKey   = KEYS[1]
local userSetKey = KEYS[2]
local userId     = ARGV[1]
local expire     = tonumber(ARGV[2])
local stock = tonumber(redis.call('get', stockKey) or "0")
if stock <= 0 then return 0 end
if redis.call('sismember', userSetKey, userId) == 1 then return 2 end
redis.call('decr', stockKey)
redis.call('sadd', userSetKey, userId)
if redis.call('ttl', userSetKey) == -1 then
  redis.call('expire', userSetKey, expire)
end
return 1
