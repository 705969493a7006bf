-- KEYS: stock, buyers, stream. ARGV: order id, user, voucher.
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then
  return 2
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'orderId', ARGV[1], 'userId', ARGV[2], 'voucherId', ARGV[3])
return 0
