local left = redis.call('HINCRBY', 'stocks', ARGV[1], -1)
if left < 0 then
  redis.call('HINCRBY', 'stocks', ARGV[1], 1)
  return -1
end
return left
