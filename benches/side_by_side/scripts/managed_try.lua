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
  return (state == 'held' or state == 'sold') and 0 or 5
end

local terms = cjson.decode(redis.call('GET', 'seckill:voucher:' .. voucher))
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if terms['begin'] ~= cjson.null and now < terms['begin'] then
  return 3
end
if terms['end'] ~= cjson.null and now >= terms['end'] then
  return 4
end

local holdings = 'seckill:units:' .. voucher
local holding = redis.call('HGET', holdings, user)
local has = holding and tonumber(string.match(holding, '^%d+')) or 0
if has + 1 > terms['limit'] then
  return 2
end
local stock = 'seckill:stock:' .. voucher
if tonumber(redis.call('GET', stock)) < 1 then
  return 1
end

redis.call('INCRBY', stock, -1)
if has == 0 then
  redis.call('SADD', 'seckill:order:' .. voucher, user)
end
redis.call('HSET', holdings, user, (has + 1) .. ':' .. order)
if terms['hold'] == cjson.null then
  redis.call('HSET', book, order, 'sold:1:0:' .. user)
  redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
else
  local deadline = string.format('%.0f', now + terms['hold'])
  redis.call('HSET', book, order, 'held:1:' .. deadline .. ':' .. user)
  redis.call('ZADD', 'seckill:hold:' .. voucher, deadline, order)
  redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order,
    'deadline', deadline)
end
return 0
