-- The end of a move, at the shard that gave: forgets it, or takes back what could not be added.
-- KEYS: stock, journal, rules. ARGV: voucher, the move as take.lua replied it, units added.
-- 1: ended. 0: that move is not on its way any more.
local out = redis.call('HGET', KEYS[2], 'out')
if out ~= ARGV[2] then
    return 0
end
local add, count = nil, nil
if ARGV[3] == '0' then
    local units = out:match('^%d+:%d+:(%d+):')
    count = {'HINCRBY', KEYS[2], 'units', units}
    if not has_stock(KEYS[1]) or not is_same_voucher(KEYS[2], KEYS[3]) then
        return redis.error_reply('NOVOUCHER neither shard has a stock for ' .. units .. ' units')
    elseif redis.call('EXISTS', KEYS[3]) == 1 then
        add = {'SECKILL.RESTOCK', ARGV[1], units}
    else
        add = {'INCRBY', KEYS[1], units}
    end
end
local forget = {'HDEL', KEYS[2], 'out'}
local lacks = lacks_right({forget, count, add})
if lacks then
    return lacks
end
if add then
    redis.call(unpack(add))
    redis.call(unpack(count))
end
redis.call(unpack(forget))
return 1
