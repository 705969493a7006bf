-- The caller's captcha has to match. KEYS: captcha, stock, buyers. ARGV: answer, user.
local wanted = redis.call('GET', KEYS[1])
if wanted ~= ARGV[1] then
  return -5
end
local n = tonumber(redis.call('GET', KEYS[2]) or '0')
if n <= 0 then
  return 1
end
if redis.call('SADD', KEYS[3], ARGV[2]) == 0 then
  return 2
end
redis.call('DECR', KEYS[2])
return 0
