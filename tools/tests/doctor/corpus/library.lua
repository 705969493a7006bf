#!lua name=shop
redis.register_function('sell', function(keys, args)
  local left = tonumber(redis.call('GET', keys[1]) or '0')
  if left < tonumber(args[1]) then
    return -1
  end
  return redis.call('DECRBY', keys[1], args[1])
end)
