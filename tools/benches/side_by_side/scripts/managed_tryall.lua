-- A cart of managed vouchers as a script, in our own words: the checks, keys and fields of
-- SECKILL.TRYALL for carts of one unit each. It takes back no holds that are due, and knows no
-- repeat of a part that was released.
-- ARGV: user, order id, vouchers. Replies one outcome per voucher: 0 each, or none 0 and 7 for what
-- could be had.
local user, order = ARGV[1], ARGV[2]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local outcomes, has, rules, known, refused = {}, {}, {}, 0, false

for at = 3, #ARGV do
  local voucher = ARGV[at]
  if redis.call('HEXISTS', 'seckill:book:' .. voucher, order) == 1 then
    known = known + 1
  end
  local rule = cjson.decode(redis.call('GET', 'seckill:voucher:' .. voucher))
  local units = tonumber(
    string.match(redis.call('HGET', 'seckill:units:' .. voucher, user) or '', '^%d+') or 0)
  local outcome = 7
  if rule['begin'] ~= cjson.null and now < rule['begin'] then
    outcome = 3
  elseif rule['end'] ~= cjson.null and now >= rule['end'] then
    outcome = 4
  elseif units + 1 > rule['limit'] then
    outcome = 2
  elseif tonumber(redis.call('GET', 'seckill:stock:' .. voucher)) < 1 then
    outcome = 1
  end
  refused = refused or outcome ~= 7
  outcomes[at - 2], has[at], rules[at] = outcome, units, rule
end
if known == #ARGV - 2 then
  for at = 1, known do
    outcomes[at] = 0
  end
  return outcomes
elseif known > 0 then
  return redis.error_reply('ORDERID the order id is that of another cart')
elseif refused then
  return outcomes
end

local shortest
for at = 3, #ARGV do
  local hold = rules[at]['hold']
  if hold ~= cjson.null and (not shortest or hold < shortest) then
    shortest = hold
  end
end
local deadline = shortest and string.format('%.0f', now + shortest)
for at = 3, #ARGV do
  local voucher = ARGV[at]
  local book = 'seckill:book:' .. voucher
  if has[at] == 0 then
    redis.call('SADD', 'seckill:order:' .. voucher, user)
  end
  redis.call('DECRBY', 'seckill:stock:' .. voucher, 1)
  redis.call('HSET', 'seckill:units:' .. voucher, user, (has[at] + 1) .. ':' .. order)
  if deadline then
    redis.call('HSET', book, order, 'held:1:' .. deadline .. ':' .. user)
    redis.call('ZADD', 'seckill:hold:' .. voucher, deadline, order)
    redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order,
      'deadline', deadline, 'cart', #ARGV - 2)
  else
    redis.call('HSET', book, order, 'sold:1:0:' .. user)
    redis.call('XADD', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order,
      'cart', #ARGV - 2)
  end
  outcomes[at - 2] = 0
end
return outcomes
