if redis.call('SCARD', KEYS[1]) == 0 then
  return 'EMPTY'
end
return redis.call('SPOP', KEYS[1])
