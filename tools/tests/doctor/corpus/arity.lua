local has = redis.call('SISMEMBER', KEYS[2])
if has == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
