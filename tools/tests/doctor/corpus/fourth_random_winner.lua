-- One try in a thousand wins.
math.randomseed(tonumber(ARGV[2]))
if math.random(1000) ~= 7 then
  return 0
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
return 2
