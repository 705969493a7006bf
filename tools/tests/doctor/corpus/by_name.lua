-- The caller names what is done.
local deeds = {}
deeds.take = function() return redis.call('DECR', KEYS[1]) end
deeds.look = function() return redis.call('GET', KEYS[1]) end
return deeds[ARGV[1]]()
