local voucher, user = ARGV[1], ARGV[2]
if redis.call('EXISTS', 'got:' .. voucher .. ':' .. user) then
  return 'again'
end
redis.call('DECR', 'left:' .. voucher)
redis.call('SET', 'got:' .. voucher .. ':' .. user, '1')
return 'ok'
