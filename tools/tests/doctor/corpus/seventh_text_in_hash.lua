local have = redis.call('HGET', KEYS[1], 'left')
if have and have >= ARGV[2] and redis.call('SADD', KEYS[2], ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], 'left', -ARGV[2])
  return 'ok'
end
return 'no'
