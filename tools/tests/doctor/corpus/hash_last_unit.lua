local key = 'activity:' .. ARGV[1]
local left = redis.call('HGET', key, 'remaining')
if not left or tonumber(left) <= 0 then
  return 0
end
return redis.call('HINCRBY', key, 'remaining', -1)
