local day = tonumber(ARGV[2]) % 31
if redis.call('SETBIT', KEYS[1], day, 1) == 1 then
  return -1
end
return redis.call('BITCOUNT', KEYS[1])
