-- An empty stock is told apart from one that is too small.
local stock = tonumber(redis.call('GET', KEYS[1]))
if stock == nil then
  return 'missing'
elseif stock <= 0 then
  return 'empty'
elseif stock < tonumber(ARGV[1]) then
  return 'too few'
end
local left = redis.call('DECRBY', KEYS[1], ARGV[1])
return left >= 0 and 'sold' or 'never'
