-- keeps the lock alive
if redis.call('exists', KEYS[1]) == 1 then
  return redis.call('pexpire', KEYS[1], ARGV[1])
end
return 0
