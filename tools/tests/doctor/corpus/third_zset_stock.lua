-- The stock is a score. KEYS: stocks. ARGV: sku.
local n = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0')
if n <= 0 then
  return 0
end
redis.call('ZINCRBY', KEYS[1], -1, ARGV[1])
return 1
