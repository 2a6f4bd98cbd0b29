-- Takes all permits that are available.
-- KEYS: the semaphore.
-- Returns how many they were.
local value = tonumber(redis.call('get', KEYS[1]) or 0)
if value <= 0 then
  return 0
end
redis.call('set', KEYS[1], 0)
return value
