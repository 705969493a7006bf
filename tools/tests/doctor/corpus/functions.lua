local function sell(keys, args)
  return redis.call('DECR', keys[1])
end
redis.register_function('sell', sell)
