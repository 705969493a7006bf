-- Deletes what is left of a shard that has lost a key; held orders are released, where the book has
-- them. KEYS: stock, journal, rules. ARGV: voucher, the sale. 1: done. 2: some were released, and more
-- are held.
local known = redis.call('HGET', KEYS[2], 'sale')
if known and known ~= ARGV[2] then
    return redis.error_reply('BUSYKEY the shard is of another sale, ' .. known)
end
local drop = {'SECKILL.DROP', ARGV[1], 'FORCE'}
local forget = {'DEL', KEYS[2]}
local lacks = lacks_right({drop, forget})
if lacks then
    return lacks
end
if redis.call(unpack(drop)) == 2 then
    return 2
end
redis.call(unpack(forget))
return 1
