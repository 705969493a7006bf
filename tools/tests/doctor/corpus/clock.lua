local at = tonumber(redis.call('TIME')[1])
if at < tonumber(ARGV[2]) then return 'soon' end
if tonumber(redis.call('GET', KEYS[1]) or '0') < 1 then return 'gone' end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 'twice' end
redis.call('DECR', KEYS[1])
return 'yours'
