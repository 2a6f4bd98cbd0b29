-- Takes all permits that are available.
-- KEYS: the semaphore.
-- Returns how many they were.
local value = redis.call('get', KEYS[1]) or '0'
if not string.match(value, '^-?%d+$') or #value > 16 then
  return redis.error_reply('DAMAGED the number of permits is none')
elseif tonumber(value) <= 0 then
  return 0
end
redis.call('set', KEYS[1], 0)
return tonumber(value)
