-- Replies a value and deletes it. No lock.
local call = redis.call
local value = call('GET', KEYS[1])
call('DEL', KEYS[1])
return value
