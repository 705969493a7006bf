local flat = redis.call('HGETALL', KEYS[1])
local item = {}
for i = 1, #flat, 2 do
  item[flat[i]] = flat[i + 1]
end
if not item['amount'] or tonumber(item['amount']) <= 0 then
  return 'NONE'
end
redis.call('HINCRBY', KEYS[1], 'amount', -1)
redis.call('LPUSH', KEYS[2], ARGV[1])
return 'OK'
