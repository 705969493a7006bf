-- Pairs of sku and units; what was taken is put back when one is short.
for i = 1, #KEYS do
  local n = redis.call('DECRBY', KEYS[i], ARGV[i])
  if n < 0 then
    for j = 1, i do
      redis.call('INCRBY', KEYS[j], ARGV[j])
    end
    return 0
  end
end
return 1
