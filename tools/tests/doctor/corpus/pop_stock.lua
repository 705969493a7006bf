local one = redis.call('RPOP', 'goods:' .. ARGV[1])
if not one then
  return 0
end
redis.call('SADD', 'winners:' .. ARGV[1], ARGV[2])
return 1
