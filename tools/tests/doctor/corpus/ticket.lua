-- A ticket is good for one entry. No lock.
if redis.call('DEL', KEYS[1]) == 1 then
  return 'come in'
end
return 'used'
