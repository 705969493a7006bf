local s = redis.call('get', 'g:' .. KEYS[1])
if s == false then return 'none' end
if s < ARGV[2] then return 'out' end
redis.call('set', 'g:' .. KEYS[1], s - ARGV[2])
redis.call('hset', 'g:' .. KEYS[1] .. ':u', ARGV[1], ARGV[2])
return 'ok'
