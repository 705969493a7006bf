-- The name of the variable in quotes: another key falls.
local stockKey = 'stock:' .. ARGV[1]
local left = tonumber(redis.call('GET', stockKey) or '0')
if left <= 0 then
  return 1
end
if redis.call('SADD', 'buyers:' .. ARGV[1], ARGV[2]) == 0 then
  return 2
end
redis.call('DECR', 'stockKey')
return 0
