local n = redis.call('DECR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 5000)
if n < 0 then
  redis.call('INCR', KEYS[1])
  return 0
end
return 1
