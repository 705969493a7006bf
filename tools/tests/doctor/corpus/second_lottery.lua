local winner = redis.call('SRANDMEMBER', KEYS[1])
if not winner then
  return nil
end
redis.call('SREM', KEYS[1], winner)
redis.call('SADD', KEYS[2], winner)
return winner
