if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then
  return 1
end
return 0
