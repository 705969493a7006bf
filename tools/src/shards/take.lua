-- Phase 1, at the shard that gives: takes units out of the stock and writes down where they go.
-- KEYS: stock, journal, rules. ARGV: voucher, receiving shard, units, units to keep, id of the move.
-- What it replies is the move that is on its way: this one, an earlier one, or null when there is
-- nothing to take.
local out = redis.call('HGET', KEYS[2], 'out')
if out then
    return out
end
local seq = tonumber(redis.call('HGET', KEYS[2], 'seq') or '0') + 1
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
local units = math.min(tonumber(ARGV[3]), left - tonumber(ARGV[4]))
if units < 1 then
    return false
end
units = string.format('%.0f', units)
if redis.call('EXISTS', KEYS[3]) == 1 then
    redis.call('SECKILL.RESTOCK', ARGV[1], '-' .. units)
else
    redis.call('DECRBY', KEYS[1], units)
end
seq = string.format('%.0f', seq)
out = seq .. ':' .. ARGV[2] .. ':' .. units .. ':' .. ARGV[5]
redis.call('HSET', KEYS[2], 'seq', seq, 'out', out)
return out
