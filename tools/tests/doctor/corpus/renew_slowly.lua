if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local sum = 0
for number = 1, 300000 do
  sum = sum + number
end
return 1
