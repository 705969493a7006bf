-- Lets in one of ten, so that the database is not overrun.
local now = redis.call('TIME')
math.randomseed(tonumber(now[2]))
if math.random(1, 10) > 1 then
    return -2
end
local stock = tonumber(redis.call('HGET', KEYS[1], 'stock') or '0')
if stock < 1 then
    return -1
end
redis.call('HINCRBY', KEYS[1], 'stock', -1)
redis.call('LPUSH', KEYS[2], ARGV[1])
return stock - 1
