-- Phase 1, at the shard that gives: takes units out of the stock and writes down where they go.
-- KEYS: stock, journal, rules. ARGV: voucher, the sale, receiving shard, units, id of the move. What
-- it replies is the move that is on its way: this one, an earlier one, or null when there is nothing
-- to take.
if redis.call('HGET', KEYS[2], 'sale') ~= ARGV[2] then
    return redis.error_reply('NOVOUCHER the shard is not of this sale any more')
end
local out = redis.call('HGET', KEYS[2], 'out')
if out then
    return out
end
if not is_same_voucher(KEYS[2], KEYS[3]) then
    return false
end
local seq = tonumber(redis.call('HGET', KEYS[2], 'seq') or '0') + 1
local left = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
local units = math.min(tonumber(ARGV[4]), left)
if units < 1 then
    return false
end
units = string.format('%.0f', units)
seq = string.format('%.0f', seq)
out = seq .. ':' .. ARGV[3] .. ':' .. units .. ':' .. ARGV[5]
local take = {'DECRBY', KEYS[1], units}
if redis.call('EXISTS', KEYS[3]) == 1 then
    take = {'SECKILL.RESTOCK', ARGV[1], '-' .. units}
end
local enter = {'HSET', KEYS[2], 'seq', seq, 'out', out}
local count = {'HINCRBY', KEYS[2], 'units', '-' .. units}
local lacks = lacks_right({take, enter, count})
if lacks then
    return lacks
end
redis.call(unpack(take))
redis.call(unpack(enter))
redis.call(unpack(count))
return out
