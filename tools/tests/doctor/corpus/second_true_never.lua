-- EXISTS is never equal to true.
if redis.call('EXISTS', KEYS[1]) == true then
  redis.call('DECR', KEYS[1])
  return 1
end
return 0
