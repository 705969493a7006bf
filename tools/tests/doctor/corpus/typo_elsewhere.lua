-- Only calls that name no deed meet the misspelt name.
if ARGV[1] == 'take' then
  return redis.call('DECR', KEYS[1])
end
return redis.eror_reply('no such deed')
