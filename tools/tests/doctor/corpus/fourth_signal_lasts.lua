-- Wakes one who waits, by a list that lasts a while. KEYS: lock, list. ARGV: token, milliseconds.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('LPUSH', KEYS[2], 'free')
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
