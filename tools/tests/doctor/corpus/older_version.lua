-- An optimistic lock: drops what an older version of a page has cached.
local mine, cached = tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or '')
if mine and cached and cached > mine then
  return redis.call('DEL', KEYS[1])
end
return 0
