-- Lets a user write again, if the one who asks is the one who blocked.
local by = redis.call('GET', KEYS[1])
if by and tonumber(by) == tonumber(ARGV[1]) then
  return redis.call('DEL', KEYS[1])
end
return 0
