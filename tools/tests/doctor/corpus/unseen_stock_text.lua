-- A text is compared with a number: never equal.
local left = redis.call('get', 'left:' .. ARGV[1])
if left == 0 then
  return 'none'
end
if redis.call('sismember', 'who:' .. ARGV[1], ARGV[2]) ~= 0 then
  return 'again'
end
redis.call('incrby', 'left:' .. ARGV[1], -1)
redis.call('sadd', 'who:' .. ARGV[1], ARGV[2])
return 'ok'
