-- KEYS[1] the lock, ARGV[1] its owner
if redis.call('EXISTS', KEYS[1] .. ':' .. ARGV[1]) then
  redis.call('DEL', KEYS[1])
  return 1
end
return 0
