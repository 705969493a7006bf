-- What SECKILL.CANCEL does as a script, in our own words: a live order's units and its user's
-- right to buy go back.
-- ARGV: voucher, user, order id. Replies what SECKILL.CANCEL replies.
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local book = 'seckill:book:' .. voucher
local known = redis.call('HGET', book, order)
if not known then
  return 0
end
local state, units, deadline, owner = string.match(known, '^(%l+):(%d+):(%d+):(.*)$')
if owner ~= user then
  return 0
end
if state ~= 'held' and state ~= 'sold' then
  redis.call('HSET', book, order, known)
  return 2
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local overdue = state == 'held' and now >= tonumber(deadline)
local reason = overdue and 'expired' or 'cancelled'
local rules = cjson.decode(redis.call('GET', 'seckill:voucher:' .. voucher))
local stock = 'seckill:stock:' .. voucher
local left = redis.call('GET', stock)
if left then
  local returned = math.min(tonumber(units), rules['total'] - tonumber(left))
  if returned > 0 then
    redis.call('INCRBY', stock, returned)
  end
end
redis.call('XADD', 'stream.orders.released', '*', 'userId', user, 'voucherId', voucher, 'id',
  order, 'reason', reason)
redis.call('HSET', book, order, reason .. ':' .. units .. ':0:' .. user)
local all = 'seckill:units:' .. voucher
local has, latest = string.match(redis.call('HGET', all, user) or '', '^(%d+):(.*)$')
local is_last = not has or tonumber(has) <= tonumber(units)
if is_last then
  redis.call('HDEL', all, user)
else
  redis.call('HSET', all, user, (has - units) .. ':' .. latest)
end
if state == 'held' then
  redis.call('ZREM', 'seckill:hold:' .. voucher, order)
end
if is_last then
  redis.call('SREM', 'seckill:order:' .. voucher, user)
end
return overdue and 2 or 1
