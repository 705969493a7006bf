-- Deletes the lock of whoever has it.
if redis.call('GET', KEYS[1]) then
  return redis.call('DEL', KEYS[1])
end
return 0
