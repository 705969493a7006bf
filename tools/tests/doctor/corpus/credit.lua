-- Ten may be sold before they are there.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= -10 then
  return 0
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 1
