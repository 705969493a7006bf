-- What SECKILL.CANCEL does as a script, in our own words: a live order's units and its user's
-- right to buy go back.
-- ARGV: voucher, user, order id. Replies what SECKILL.CANCEL replies.
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local book = 'seckill:book:' .. voucher
local known = redis.call('HGET', book, order)
if not known then
  return 0
end
local state, units, owner = string.match(known, '^(%l+):(%d+):%d+:(.*)$')
if owner ~= user then
  return 0
end
if state ~= 'held' and state ~= 'sold' then
  return 2
end
local terms = cjson.decode(redis.call('GET', 'seckill:voucher:' .. voucher))
local stock = 'seckill:stock:' .. voucher
local left = redis.call('GET', stock)
if left then
  local returned = math.min(tonumber(units), terms['total'] - tonumber(left))
  if returned > 0 then
    redis.call('INCRBY', stock, returned)
  end
end
redis.call('HSET', book, order, 'cancelled:' .. units .. ':0:' .. user)
local holdings = 'seckill:units:' .. voucher
local has, latest = string.match(redis.call('HGET', holdings, user) or '', '^(%d+):(.*)$')
if has and tonumber(has) > tonumber(units) then
  redis.call('HSET', holdings, user, (has - units) .. ':' .. latest)
else
  redis.call('HDEL', holdings, user)
  redis.call('SREM', 'seckill:order:' .. voucher, user)
end
if state == 'held' then
  redis.call('ZREM', 'seckill:hold:' .. voucher, order)
end
redis.call('XADD', 'stream.orders.released', '*', 'userId', user, 'voucherId', voucher, 'id',
  order, 'reason', 'cancelled')
return 1
