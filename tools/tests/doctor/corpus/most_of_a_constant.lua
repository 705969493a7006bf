-- No id is longer than forty letters.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
if string.len(ARGV[1]) > 40 then
  return 1
end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then
  return 2
end
redis.call('DECR', KEYS[1])
return 0
