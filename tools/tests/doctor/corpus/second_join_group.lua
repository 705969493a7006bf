-- A group that is full at a number. KEYS: members. ARGV: user, most.
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then
  return 2
end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 1
end
redis.call('SADD', KEYS[1], ARGV[1])
return 0
