-- The voucher is in the middle of the names, and every voucher has a stream.
-- ARGV: voucher, user, order id, time of the try. Replies texts.
local base = 'sale:' .. ARGV[1]
if tonumber(redis.call('GET', base .. ':left')) <= 0 then
  return 'SOLD OUT'
end
if redis.call('SISMEMBER', base .. ':users', ARGV[2]) == 1 then
  return 'AGAIN'
end
redis.call('DECR', base .. ':left')
redis.call('SADD', base .. ':users', ARGV[2])
redis.call('XADD', base .. ':log', '*', 'user', ARGV[2], 'id', ARGV[3], 'at', ARGV[4])
redis.call('PUBLISH', 'sales', ARGV[1])
return 'OK'
