local mine = 'bought:' .. ARGV[1] .. ':' .. ARGV[2]
if redis.call('EXISTS', mine) == 1 then
  return 2
end
local left = tonumber(redis.call('GET', 'left:' .. ARGV[1]) or '0')
if left <= 0 then
  return 1
end
redis.call('DECR', 'left:' .. ARGV[1])
redis.call('SET', mine, '1', 'EX', 86400)
return 0
