--秒杀库存
local sk = 'product:stock:' .. KEYS[1]
--已购用户
local uk = 'product:users:' .. KEYS[1]
local uid = ARGV[1]
if redis.call('SISMEMBER', uk, uid) == 1 then
    return 'repeat'
end
local left = redis.call('GET', sk)
if left == false or tonumber(left) <= 0 then
    return 'over'
end
redis.call('DECR', sk)
redis.call('SADD', uk, uid)
return 'success'
