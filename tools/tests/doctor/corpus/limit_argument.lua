-- Each user may buy up to a limit that the caller says. ARGV: voucher, user, units, limit.
local stock = tonumber(redis.call('HGET', 'sale:' .. ARGV[1], 'left') or 0)
local had = tonumber(redis.call('HGET', 'sale:' .. ARGV[1] .. ':users', ARGV[2]) or 0)
local n = tonumber(ARGV[3])
if had + n > tonumber(ARGV[4]) then
  return 2
end
if stock < n then
  return 1
end
redis.call('HINCRBY', 'sale:' .. ARGV[1], 'left', -n)
redis.call('HINCRBY', 'sale:' .. ARGV[1] .. ':users', ARGV[2], n)
return 0
