-- By the clock of the server.
local now = tonumber(redis.call('TIME')[1])
local from, to = redis.call('GET', 'open:' .. ARGV[1]), redis.call('GET', 'shut:' .. ARGV[1])
if not from or not to then
  return 'unknown'
end
if now < tonumber(from) or now > tonumber(to) then
  return 'closed'
end
local left = tonumber(redis.call('GET', 'left:' .. ARGV[1]) or '0')
if left < 1 then
  return 'out'
end
if redis.call('SISMEMBER', 'users:' .. ARGV[1], ARGV[2]) == 1 then
  return 'again'
end
redis.call('DECR', 'left:' .. ARGV[1])
redis.call('SADD', 'users:' .. ARGV[1], ARGV[2])
return 'yours'
