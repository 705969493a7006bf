local n = redis.call('GET', KEYS[1])
if not n or tonumber(n) < 1 then
  return false
end
redis.call('INCRBY', KEYS[1], -1)
return true
