-- One hash for all goods. KEYS: stocks. ARGV: sku, units.
local have = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local want = tonumber(ARGV[2])
if have < want then
  return 0
end
redis.call('HINCRBY', KEYS[1], ARGV[1], -want)
return 1
