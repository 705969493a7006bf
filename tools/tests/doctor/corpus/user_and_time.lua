-- What was asked is remembered with its moment. ARGV: voucher, user, moment.
local stock = 'flash:' .. ARGV[1]
local asked = 'flash:asked:' .. ARGV[1]
local who = ARGV[2] .. ':' .. ARGV[3]
if redis.call('sismember', asked, who) == 1 then
  return -1
end
local n = redis.call('get', stock)
if (not n) or tonumber(n) <= 0 then
  return 0
end
redis.call('decr', stock)
redis.call('sadd', asked, who)
return 1
