local sale = 'sale:' .. ARGV[1]
local fields = redis.call('HMGET', sale, 'begin', 'finish')
if not fields[1] or not fields[2] then
  return -9
end
local now = tonumber(ARGV[3])
if now < tonumber(fields[1]) then
  return -1
end
if now > tonumber(fields[2]) then
  return -2
end
local stock = 'sale:stock:' .. ARGV[1]
if tonumber(redis.call('GET', stock) or '0') <= 0 then
  return -3
end
if redis.call('SADD', 'sale:users:' .. ARGV[1], ARGV[2]) == 0 then
  return -4
end
redis.call('DECR', stock)
return 1
