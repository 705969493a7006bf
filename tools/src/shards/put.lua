-- Phase 2, at the shard that receives: adds the units, once, however often it is asked.
-- KEYS: stock, journal, rules. ARGV: voucher, giving shard, number of the move, units, id.
-- Replies the units added by this move, now or before; 0: there is no stock to add them to, and
-- there never will be for this move; -1: a later move of that shard was here.
local field = 'in:' .. ARGV[2]
local last = redis.call('HGET', KEYS[2], field)
if last then
    local seq, units, id = last:match('^(%d+):(%d+):(.*)$')
    if tonumber(seq) > tonumber(ARGV[3]) then
        return -1
    elseif tonumber(seq) == tonumber(ARGV[3]) then
        if id ~= ARGV[5] then
            return -1
        end
        return tonumber(units)
    end
end
local units = ARGV[4]
if redis.call('EXISTS', KEYS[1]) == 0 then
    units = '0'
elseif redis.call('EXISTS', KEYS[3]) == 1 then
    redis.call('SECKILL.RESTOCK', ARGV[1], units)
else
    redis.call('INCRBY', KEYS[1], units)
end
redis.call('HSET', KEYS[2], field, ARGV[3] .. ':' .. units .. ':' .. ARGV[5])
return tonumber(units)
