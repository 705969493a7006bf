if redis.call('GET', 'lock:' .. KEYS[1]) == ARGV[1] then
  return redis.call('DEL', 'lock:' .. KEYS[1])
end
return 0
