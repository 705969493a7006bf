-- A count in a field, of which only its presence is asked for: at 0 it is not a sale beyond a stock.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
return 2
