-- Says in the journal of one shard that the sale is open: it is not made again from then on.
-- KEYS: stock, journal, rules. ARGV: voucher, the sale, what to say. 1: said. 0: it is of another sale.
if redis.call('HGET', KEYS[2], 'sale') ~= ARGV[2] then
    return 0
end
local tell = {'HSET', KEYS[2], 'state', ARGV[3]}
local lacks = lacks_right({tell})
if lacks then
    return lacks
end
redis.call(unpack(tell))
return 1
