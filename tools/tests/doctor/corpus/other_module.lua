-- Whether the number of a stock fails here says nothing of a server that has the command.
local left = tonumber(redis.call('JSON.GET', KEYS[1], '$.stock'))
if left <= 0 then
  return 0
end
redis.call('JSON.NUMINCRBY', KEYS[1], '$.stock', -1)
return 1
