-- Three for each user.
local had = tonumber(redis.call('HGET', 'counts:' .. ARGV[1], ARGV[2]) or '0')
if had >= 3 then
  return 2
end
local left = tonumber(redis.call('GET', 'left:' .. ARGV[1]) or '0')
if left <= 0 then
  return 1
end
redis.call('HINCRBY', 'counts:' .. ARGV[1], ARGV[2], 1)
redis.call('DECR', 'left:' .. ARGV[1])
return 0
