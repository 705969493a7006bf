local id = ARGV[1]
local now = tonumber(ARGV[3])
local start = tonumber(redis.call('HGET', 'act:' .. id, 'startTime') or '0')
local over = tonumber(redis.call('HGET', 'act:' .. id, 'endTime') or '0')
if now < start then return 'NOT_STARTED' end
if now >= over then return 'ENDED' end
local left = tonumber(redis.call('GET', 'act:stock:' .. id) or '0')
if left <= 0 then return 'SOLD_OUT' end
if redis.call('SISMEMBER', 'act:joined:' .. id, ARGV[2]) == 1 then return 'JOINED' end
redis.call('DECRBY', 'act:stock:' .. id, 1)
redis.call('SADD', 'act:joined:' .. id, ARGV[2])
return 'OK'
