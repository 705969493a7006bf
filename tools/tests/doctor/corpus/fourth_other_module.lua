-- Asks a Bloom filter first.
if redis.call('BF.EXISTS', KEYS[2], ARGV[1]) == 1 then
  return 2
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('BF.ADD', KEYS[2], ARGV[1])
return 0
