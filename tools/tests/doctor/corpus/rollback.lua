-- Undoes a sale. KEYS: stock, buyers. ARGV: user.
if redis.call('SREM', KEYS[2], ARGV[1]) == 1 then
  redis.call('INCR', KEYS[1])
  return 1
end
return 0
