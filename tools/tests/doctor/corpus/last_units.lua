-- Replies what is left, and 0 if that is too little.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left < tonumber(ARGV[1]) then
  return 0
end
return redis.call('DECRBY', KEYS[1], ARGV[1])
