-- Several units at once, and errors for outcomes. KEYS: stock, buyers. ARGV: units, user.
local units = tonumber(ARGV[1])
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then
  return redis.error_reply('AGAIN one each')
end
if tonumber(redis.call('GET', KEYS[1]) or 0) < units then
  return { err = 'SOLDOUT none left' }
end
redis.call('DECRBY', KEYS[1], units)
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('EXPIRE', KEYS[2], 86400)
return redis.status_reply('OK')
