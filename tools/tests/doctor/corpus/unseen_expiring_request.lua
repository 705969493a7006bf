-- A request is remembered for ten minutes. ARGV: goods, user, request.
local seen = 'req:' .. ARGV[3]
if redis.call('SET', seen, ARGV[2], 'NX', 'EX', 600) == false then
  return 'duplicate request'
end
local left = tonumber(redis.call('GET', 'goods:' .. ARGV[1] .. ':left') or '0')
if left == 0 then
  return 'none left'
end
redis.call('DECR', 'goods:' .. ARGV[1] .. ':left')
redis.call('RPUSH', 'goods:queue', ARGV[3])
return 'queued'
