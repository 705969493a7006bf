-- Replies JSON with what is left.
local function answer(word, left)
  return cjson.encode({ said = word .. ' ' .. left })
end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return answer('again', '')
end
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return answer('none', '')
end
redis.call('SADD', KEYS[2], ARGV[1])
return answer('yours', redis.call('DECR', KEYS[1]))
