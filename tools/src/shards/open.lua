-- Opens one shard, once. KEYS: stock, journal, rules. ARGV: voucher, the sale as its journals tell of
-- it, units of this shard, how many words the journal begins with, these words, fields and values, then
-- the rules of SECKILL.CREATE, or nothing of an unmanaged voucher.
-- 1: opened. 0: was open already, as part of the same sale.
local known = redis.call('HGET', KEYS[2], 'sale')
if redis.call('HEXISTS', KEYS[2], 'dropping') == 1 then
    return redis.error_reply('BUSYKEY the sale is being dropped: run drop again')
elseif known == ARGV[2] then
    return 0
elseif known then
    return redis.error_reply('BUSYKEY the shard is of another sale, ' .. known)
elseif redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then
    return redis.error_reply('BUSYKEY there is a voucher of this name')
end
local rules = 5 + tonumber(ARGV[4])
local make = {'SET', KEYS[1], ARGV[3]}
if #ARGV >= rules then
    make = {'SECKILL.CREATE', ARGV[1], ARGV[3], unpack(ARGV, rules)}
end
-- What a journal without a sale holds is of no sale.
local forget = {'DEL', KEYS[2]}
local enter = {'HSET', KEYS[2], 'sale', ARGV[2], 'units', ARGV[3], unpack(ARGV, 5, rules - 1)}
local lacks = lacks_right({make, forget, enter})
if lacks then
    return lacks
end
local made = redis.pcall(unpack(make))
if made.err then
    return made
end
redis.call(unpack(forget))
redis.call(unpack(enter))
local made_sale = sale_of(KEYS[3])
if made_sale then
    redis.call('HSET', KEYS[2], 'voucher-sale', made_sale)
end
return 1
