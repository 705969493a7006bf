local items = cjson.decode(ARGV[1])
for _, item in ipairs(items) do
  if tonumber(redis.call('GET', 'stock:' .. item.sku) or 0) < item.n then return 0 end
end
for _, item in ipairs(items) do redis.call('DECRBY', 'stock:' .. item.sku, item.n) end
return 1
