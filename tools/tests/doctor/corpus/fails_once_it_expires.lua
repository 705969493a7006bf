-- Lets the buyers live as long as the stock, by a command that is misspelt.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 2
end
redis.call('DECR', KEYS[1])
local ms = redis.call('PTTL', KEYS[1])
if ms > 0 then
  redis.call('PEXPRIE', KEYS[2], ms)
end
return 0
