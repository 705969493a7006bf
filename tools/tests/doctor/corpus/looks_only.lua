-- One word asks what is left, and takes nothing.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left < tonumber(ARGV[1]) then
  return -1
end
if ARGV[2] == 'look' then
  return left
end
return redis.call('DECRBY', KEYS[1], ARGV[1])
