local left = redis.call('GET', KEYS[1])
if not left then return -1 end
if left >= ARGV[1] then
  redis.call('DECRBY', KEYS[1], ARGV[1])
  return 1
end
return 0
