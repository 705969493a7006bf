-- KEYS and ARGV the wrong way round.
if redis.call('GET', ARGV[1]) == KEYS[1] then
  return redis.call('DEL', ARGV[1])
end
return 0
