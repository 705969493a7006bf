local k = 'event:' .. ARGV[1]
local seats = tonumber(redis.call('HGET', k, 'seats') or '-1')
if seats < 0 then
  return -1
end
if seats == 0 then
  return 0
end
redis.call('HINCRBY', k, 'seats', -1)
redis.call('EXPIRE', k, 600)
return 1
