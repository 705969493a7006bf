-- The answer of a request is kept, and given again. KEYS: answer, stock. ARGV: user.
local before = redis.call('GET', KEYS[1])
if before then
  return before
end
local answer = 'sold-out'
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then
  redis.call('DECR', KEYS[2])
  answer = 'yours'
end
redis.call('SET', KEYS[1], answer, 'EX', 300)
return answer
