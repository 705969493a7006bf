-- The usual script of a bare stock, in our own words. KEYS: the stock. ARGV: units. Replies the
-- stock before the deduction, 0 (too little), -1 (no such key) or 1 (unlimited).
local stock = tonumber(redis.call('GET', KEYS[1]))
if not stock then
  return -1
end
if stock == -1 then
  return 1
end
if stock < tonumber(ARGV[1]) then
  return 0
end
redis.call('DECRBY', KEYS[1], ARGV[1])
return stock
