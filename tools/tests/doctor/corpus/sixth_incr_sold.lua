local sold = redis.call('INCR', KEYS[1])
if sold > tonumber(ARGV[1]) then
  redis.call('DECR', KEYS[1])
  return 0
end
return 1
