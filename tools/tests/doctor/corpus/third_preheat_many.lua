for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[i])
end
return #KEYS
