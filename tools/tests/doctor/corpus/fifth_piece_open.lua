if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then
    return 2
end
if tonumber(redis.call('get', KEYS[1])) > 0 then
    redis.call('decr', KEYS[1])
