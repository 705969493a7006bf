-- seckill.lua with its keys declared, as a cluster demands, in our own words.
-- KEYS: stock, buyers, orders. ARGV: voucher, user, order id. Replies 0 (sold), 1 (sold out) or 2
-- (already bought).
local user = ARGV[2]
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], user) == 1 then
  return 2
end
redis.call('INCRBY', KEYS[1], -1)
redis.call('SADD', KEYS[2], user)
redis.call('XADD', KEYS[3], '*', 'userId', user, 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
