if #ARGV ~= 2 then
  return redis.error_reply('two arguments please')
end
local stock, user = 'left:' .. ARGV[1], ARGV[2]
if tonumber(redis.call('GET', stock) or '0') < 1 then
  return 1
end
if redis.call('SADD', 'who:' .. ARGV[1], user) == 0 then
  return 2
end
redis.call('DECR', stock)
return 0
