local held = redis.call('MGET', KEYS[1])
if held[1] == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
