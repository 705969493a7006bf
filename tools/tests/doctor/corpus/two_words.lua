-- Two words together stop a renewal.
if redis.call('GET', KEYS[1]) ~= ARGV[1] or ARGV[3] == 'no' and ARGV[4] == 'never' then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
