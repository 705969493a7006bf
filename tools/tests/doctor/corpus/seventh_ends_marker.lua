local has = redis.call('exists', KEYS[1])
if has and ARGV[1] ~= '' then
  redis.call('del', KEYS[1])
  return 'released'
end
return 'none'
