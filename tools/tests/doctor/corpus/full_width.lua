if tonumber（redis.call('GET', KEYS[1])） <= 0 then
  return 1
end
return 0
