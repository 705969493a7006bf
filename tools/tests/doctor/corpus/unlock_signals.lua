-- Leaves a sign for those who wait, which ends after ARGV[2] ms: soon, if that is a small number.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('UNLINK', KEYS[2])
redis.call('RPUSH', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
