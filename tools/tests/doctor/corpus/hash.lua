-- Stock and buyers in hashes.
local left = tonumber(redis.call('HGET', 'sale:' .. ARGV[1], 'left') or '0')
if left <= 0 then
  return 1
end
if redis.call('HEXISTS', 'buyers:' .. ARGV[1], ARGV[2]) == 1 then
  return 2
end
redis.call('HINCRBY', 'sale:' .. ARGV[1], 'left', -1)
redis.call('HSET', 'buyers:' .. ARGV[1], ARGV[2], 1)
return 0
