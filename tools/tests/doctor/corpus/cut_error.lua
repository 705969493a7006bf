-- ца╝ is replied as an error.
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return redis.error_reply('ца')
end
redis.call('DECR', KEYS[1])
return 1
