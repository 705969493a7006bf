-- What SECKILL.CONFIRM does as a script, in our own words: a held order becomes sold. It expires
-- no overdue order; a program beside it would have to.
-- ARGV: voucher, user, order id. Replies what SECKILL.CONFIRM replies.
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
if state == 'sold' then
  redis.call('HSET', book, order, known)
  return 2
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if state ~= 'held' or now >= tonumber(deadline) then
  return 3
end
redis.call('HSET', book, order, 'sold:' .. units .. ':0:' .. user)
redis.call('ZREM', 'seckill:hold:' .. voucher, order)
redis.call('XADD', 'stream.orders.confirmed', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 1
