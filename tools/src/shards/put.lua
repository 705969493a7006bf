-- Phase 2, at the shard that receives: adds the units, once, however often it is asked.
-- KEYS: stock, journal, rules. ARGV: voucher, the sale, giving shard, number of the move, units, id.
-- Replies the units added by this move, now or before; 0: there is no stock to add them to, and
-- there never will be for this move; -1: a later move of that shard was here.
if redis.call('HGET', KEYS[2], 'sale') ~= ARGV[2] then
    return redis.error_reply('NOVOUCHER the shard is not of this sale any more')
end
local field = 'in:' .. ARGV[3]
local last = redis.call('HGET', KEYS[2], field)
if last then
    local seq, units, id = last:match('^(%d+):(%d+):(.*)$')
    if tonumber(seq) > tonumber(ARGV[4]) then
        return -1
    elseif tonumber(seq) == tonumber(ARGV[4]) then
        if id ~= ARGV[6] then
            return -1
        end
        return tonumber(units)
    end
end
local units = ARGV[5]
local add = {'INCRBY', KEYS[1], units}
if units == '0' then
    add = nil
elseif not has_stock(KEYS[1]) or not is_same_voucher(KEYS[2], KEYS[3]) then
    units, add = '0', nil
elseif redis.call('EXISTS', KEYS[3]) == 1 then
    add = {'SECKILL.RESTOCK', ARGV[1], units}
end
local enter = {'HSET', KEYS[2], field, ARGV[4] .. ':' .. units .. ':' .. ARGV[6]}
local count = {'HINCRBY', KEYS[2], 'units', units}
local lacks = lacks_right({enter, count, add})
if lacks then
    return lacks
end
if add then
    redis.call(unpack(add))
end
redis.call(unpack(enter))
redis.call(unpack(count))
return tonumber(units)
