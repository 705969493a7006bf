-- Wakes one who waits. KEYS: lock, list. ARGV: token.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  if redis.call('LLEN', KEYS[2]) == 0 then
    redis.call('RPUSH', KEYS[2], '1')
  end
  return 1
end
return 0
