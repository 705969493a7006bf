local key = KEYS[1]
local bought = KEYS[2]
local user = ARGV[1]
if redis.call('HEXISTS', bought, user) == 1 then
    return -1
end
local left = redis.call('DECR', key)
if left <= 0 then
    return 0
end
redis.call('HSET', bought, user, 1)
return 1
