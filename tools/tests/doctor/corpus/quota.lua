-- One user too many, of a quota that only the caller knows.
if redis.call('SCARD', KEYS[1]) > tonumber(ARGV[2]) then
  return 0
end
return redis.call('SADD', KEYS[1], ARGV[1])
