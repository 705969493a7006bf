-- The stock is asked as a hash and taken as a string.
if tonumber(redis.call('HGET', KEYS[1], 'stock') or '0') > 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return nil .. 'x'
