local seat = tonumber(ARGV[1])
if redis.call('GETBIT', KEYS[1], 7) == 1 then
  return 0
end
redis.call('SETBIT', KEYS[1], 7, 1)
return 1
