-- A code for each user, once. KEYS: codes, winners. ARGV: user.
local mine = redis.call('HGET', KEYS[2], ARGV[1])
if mine then
  return mine
end
local code = redis.call('LPOP', KEYS[1])
if not code then
  return nil
end
redis.call('HSET', KEYS[2], ARGV[1], code)
return code
