-- Drops one shard, or says in its journal that the sale is being dropped.
-- KEYS: stock, journal, rules. ARGV: voucher, the sale, '1' to say it only.
-- ARGV[4] is 'FORCE' if held orders are to be released. 1: done. 2: some were released, and more are
-- held. 0: there was no voucher, or this shard is not of that sale any more.
if redis.call('HGET', KEYS[2], 'sale') ~= ARGV[2] then
    return 0
end
local tell = {'HSET', KEYS[2], 'dropping', '1'}
local drop = {'SECKILL.DROP', ARGV[1], ARGV[4]}
local forget = {'DEL', KEYS[2]}
local lacks = lacks_right({tell, drop, forget})
if lacks then
    return lacks
end
if ARGV[3] == '1' then
    redis.call(unpack(tell))
    return 1
end
-- A voucher that somebody else has made since is theirs.
local dropped = is_same_voucher(KEYS[2], KEYS[3]) and redis.call(unpack(drop)) or 0
if dropped == 2 then
    return 2
end
redis.call(unpack(forget))
return dropped
