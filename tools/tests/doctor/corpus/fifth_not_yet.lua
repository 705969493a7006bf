local now = tonumber(redis.call('TIME')[1])
local sale = redis.call('HMGET', KEYS[1], 'startTime', 'endTime')
if not sale[1] or now < tonumber(sale[1]) then
    return 3
end
if now > tonumber(sale[2]) then
    return 4
end
if tonumber(redis.call('GET', KEYS[2]) or '0') <= 0 then
    return 1
end
if redis.call('SADD', KEYS[3], ARGV[1]) == 0 then
    return 2
end
redis.call('DECR', KEYS[2])
return 0
