if redis.call('exists', 'stock:' .. ARGV[1]) == 0 then
  return 'missing'
end
if tonumber(redis.call('get', 'stock:' .. ARGV[1])) < 1 then
  return 'empty'
end
redis.call('decr', 'stock:' .. ARGV[1])
return 'ok'
