-- Everything in local functions, and pcall where others call.
local function key(kind)
  return 'mall:' .. kind .. ':' .. ARGV[2]
end
local function has(user)
  return redis.pcall('SISMEMBER', key('members'), user) == 1
end
local n = redis.call('GET', key('units'))
if not n then return 'NO_SALE' end
if has(ARGV[1]) then return 'TWICE' end
if tonumber(n) < 1 then return 'NONE' end
redis.call('SADD', key('members'), ARGV[1])
redis.call('DECRBY', key('units'), 1)
return 'DONE'
