-- The stock is a field of JSON.
local text = redis.call('GET', KEYS[1])
if not text then
  return -1
end
local goods = cjson.decode(text)
if goods.stock <= 0 then
  return 0
end
goods.stock = goods.stock - 1
redis.call('SET', KEYS[1], cjson.encode(goods))
return 1
