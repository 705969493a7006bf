if cache.call('GET', KEYS[1]) == ARGV[1] then
  return cache.call('DEL', KEYS[1])
end
return 0
