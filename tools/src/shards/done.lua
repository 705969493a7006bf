-- The end of a move, at the shard that gave: forgets it, or takes back what could not be added.
-- KEYS: stock, journal, rules. ARGV: voucher, the move as take.lua replied it, units added.
-- 1: ended. 0: that move is not on its way any more.
local out = redis.call('HGET', KEYS[2], 'out')
if out ~= ARGV[2] then
    return 0
end
if ARGV[3] == '0' then
    local units = out:match('^%d+:%d+:(%d+):')
    if redis.call('EXISTS', KEYS[3]) == 1 then
        redis.call('SECKILL.RESTOCK', ARGV[1], units)
    elseif redis.call('EXISTS', KEYS[1]) == 1 then
        redis.call('INCRBY', KEYS[1], units)
    else
        return redis.error_reply('NOVOUCHER neither shard has a stock for ' .. units .. ' units')
    end
end
redis.call('HDEL', KEYS[2], 'out')
return 1
