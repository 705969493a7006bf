local bought = redis.call('sismember', 'bought:' .. ARGV[1], ARGV[2])
if bought == 1 then
  return 'repeat'
end
local left = redis.call('get', 'left:' .. ARGV[1])
if not left then
  return 'no such sale'
end
if tonumber(left) <= 0 then
  return 'sold out'
end
redis.call('decr', 'left:' .. ARGV[1])
redis.call('sadd', 'bought:' .. ARGV[1], ARGV[2])
return 'ok'
