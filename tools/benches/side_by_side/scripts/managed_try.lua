-- A try on a managed voucher as a script, in our own words: the checks, keys and fields of
-- SECKILL.TRY. It takes back no holds that are due; a program beside it would have to.
-- ARGV: voucher, user, order id. Replies what SECKILL.TRY replies.
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local book = 'seckill:book:' .. voucher
local known = redis.call('HGET', book, order)
if known then
  local state, owner = string.match(known, '^(%l+):%d+:%d+:(.*)$')
  if owner ~= user then
    return redis.error_reply('ORDERID the order id is another user\'s')
  end
  redis.call('HSET', book, order, known)
  return (state == 'held' or state == 'sold') and 0 or 5
end

local rules = cjson.decode(redis.call('GET', 'seckill:voucher:' .. voucher))
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if rules['begin'] ~= cjson.null and now < rules['begin'] then
  return 3
end
if rules['end'] ~= cjson.null and now >= rules['end'] then
  return 4
end

local all = 'seckill:units:' .. voucher
local has = tonumber(string.match(redis.call('HGET', all, user) or '', '^%d+') or 0)
if has + 1 > rules['limit'] then
  return 2
end
local stock = 'seckill:stock:' .. voucher
if tonumber(redis.call('GET', stock)) < 1 then
  return 1
end

if has == 0 then
  redis.call('SADD', 'seckill:order:' .. voucher, user)
end
redis.call('DECRBY', stock, 1)
redis.call('HSET', all, user, (has + 1) .. ':' .. order)
if rules['hold'] == cjson.null then
  redis.call('HSET', book, order, 'sold:1:0:' .. user)
  redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
else
  local deadline = string.format('%.0f', now + rules['hold'])
  redis.call('HSET', book, order, 'held:1:' .. deadline .. ':' .. user)
  redis.call('ZADD', 'seckill:hold:' .. voucher, deadline, order)
  redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order,
    'deadline', deadline)
end
return 0
