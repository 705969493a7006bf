-- Opens one shard, once. KEYS: stock, journal, rules. ARGV: voucher, shards, units of the whole
-- sale, units of this shard, then the rules of SECKILL.CREATE, or nothing of an unmanaged voucher.
-- 1: opened. 0: was open already, as part of the same sale.
local sale = ARGV[2] .. ':' .. ARGV[3]
local known = redis.call('HGET', KEYS[2], 'sale')
if known == sale then
    return 0
elseif known then
    return redis.error_reply('EXISTS the shard is of another sale, ' .. known)
elseif redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then
    return redis.error_reply('EXISTS there is a voucher of this name')
end
if #ARGV > 4 then
    local create = redis.pcall('SECKILL.CREATE', ARGV[1], ARGV[4], unpack(ARGV, 5))
    if create.err then
        return create
    end
else
    redis.call('SET', KEYS[1], ARGV[4])
end
redis.call('HSET', KEYS[2], 'sale', sale)
return 1
