local left = tonumber(redis.call('GET', stockKey) or '0')
if left < quantity then
    return -1
end
redis.call('DECRBY', stockKey, quantity)
redis.call('SADD', buyersKey, userId)
return left - quantity
