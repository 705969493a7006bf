local order = cjson.decode(ARGV[1])
if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], order.user)
return 0
