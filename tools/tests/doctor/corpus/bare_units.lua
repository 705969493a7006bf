local want = tonumber(ARGV[1])
local have = tonumber(redis.call('GET', KEYS[1]) or '-1')
if have == -1 then
  return -1
end
if have >= want then
  return redis.call('DECRBY', KEYS[1], want)
end
return -2
