-- All items of a cart, or none. KEYS: stocks. ARGV: units of each.
for i = 1, #KEYS do
  local have = tonumber(redis.call('GET', KEYS[i]) or '0')
  if have < tonumber(ARGV[i]) then
    return i
  end
end
for i = 1, #KEYS do
  redis.call('DECRBY', KEYS[i], ARGV[i])
end
return 0
