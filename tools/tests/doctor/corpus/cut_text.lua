-- 库存 is the stock.
local left = redis.call('GET', KEYS[1])
return '�
