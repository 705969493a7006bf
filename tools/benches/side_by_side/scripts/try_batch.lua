-- Many tries in one script, in our own words: what seckill.lua would answer to each, one after
-- the other, with one command per key instead of one per try.
-- KEYS: stock, buyers, orders. ARGV: the voucher, then a user and an order id per try. Replies an
-- outcome per try: 0 (sold), 1 (sold out) or 2 (already bought).
local call = redis.call
local left = tonumber(call('GET', KEYS[1]))
local outcomes = {}
if left <= 0 then
  for try = 1, (#ARGV - 1) / 2 do
    outcomes[try] = 1
  end
  return outcomes
end

local users = {}
for at = 2, #ARGV, 2 do
  users[at / 2] = ARGV[at]
end
-- 7,000 arguments fit on the stack of Lua.
local bought = call('SMISMEMBER', KEYS[2], unpack(users))
local new, is_new = {}, {}
for try = 1, #users do
  local user = users[try]
  if left <= 0 then
    outcomes[try] = 1
  elseif bought[try] == 1 or is_new[user] then
    outcomes[try] = 2
  else
    outcomes[try] = 0
    left = left - 1
    is_new[user] = true
    new[#new + 1] = user
  end
end
if #new == 0 then
  return outcomes
end

call('DECRBY', KEYS[1], #new)
call('SADD', KEYS[2], unpack(new))
local voucher = ARGV[1]
for try = 1, #users do
  if outcomes[try] == 0 then
    call('XADD', KEYS[3], '*', 'userId', users[try], 'voucherId', voucher, 'id',
      ARGV[2 * try + 1])
  end
end
return outcomes
