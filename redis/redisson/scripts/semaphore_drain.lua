-- Takes all permits that are available.
-- KEYS: the semaphore, the record of this request.
-- ARGV: for how many milliseconds to remember this request.
-- Returns how many they were, or -1 if the request was undone before it came.
local semaphore, record = KEYS[1], KEYS[2]
if redis.call('exists', record) == 1 then
  return -1
end
local value = redis.call('get', semaphore) or '0'
if not string.match(value, '^-?%d+$') or #value > 16 then
  return redis.error_reply('DAMAGED the number of permits is none')
elseif tonumber(value) <= 0 then
  return 0
end
redis.call('set', semaphore, 0)
redis.call('set', record, value, 'px', ARGV[1])
return tonumber(value)
