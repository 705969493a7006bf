-- Holds units for some time, and replies a list. A check that never fails is left unread.
local units = tonumber(ARGV[1])
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
if left < units then
  return { 'short', left }
end
left = redis.call('DECRBY', KEYS[1], units)
local kept = redis.call('SET', KEYS[2], units, 'EX', tonumber(ARGV[2]))
if not kept then
  return redis.error_reply('not kept')
end
redis.call('INCR', 'sold')
return { 'held', left, tonumber(redis.call('GET', 'sold')) }
