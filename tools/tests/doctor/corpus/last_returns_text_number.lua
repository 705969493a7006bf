local c = redis.call('get', KEYS[1])
if c and tonumber(c) >= tonumber(ARGV[1]) then
  redis.call('incrby', KEYS[1], 0 - ARGV[1])
  return '1'
end
return '0'
