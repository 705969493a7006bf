-- Only what is no number is neither: the last reply is for that.
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left <= 0 then
  return 0
elseif left > 0 then
  redis.call('DECR', KEYS[1])
  return 1
end
return -1
