if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  return 1
end
return 0
