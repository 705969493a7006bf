-- The last unit closes the sale for the page that shows it. KEYS: stock.
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n <= 0 then
  return redis.status_reply('CLOSED')
end
redis.call('DECR', KEYS[1])
return redis.status_reply('YOURS')
