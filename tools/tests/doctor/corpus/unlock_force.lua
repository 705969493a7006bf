-- One word lets anybody release.
if ARGV[2] == 'force' or redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
