local key, value = KEYS[1], ARGV[1]
if redis.call('exists', key) then
  redis.call('del', key)
  return 1
end
return 0
