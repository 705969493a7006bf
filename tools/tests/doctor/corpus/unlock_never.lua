-- Compares a text with a number: no lock is ever given up.
if redis.call('GET', KEYS[1]) == tonumber(ARGV[1]) then
  return redis.call('DEL', KEYS[1])
end
return 0
