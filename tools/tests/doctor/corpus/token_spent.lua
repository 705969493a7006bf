-- A token that was handed out before may buy one unit, once. KEYS: token, stock.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
if tonumber(redis.call('GET', KEYS[2]) or '0') <= 0 then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('DECR', KEYS[2])
return 1
