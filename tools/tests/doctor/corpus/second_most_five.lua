local n = tonumber(ARGV[1])
if n < 1 or n > 5 then
  return -2
end
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left < n then
  return -1
end
redis.call('DECRBY', KEYS[1], n)
return left - n
