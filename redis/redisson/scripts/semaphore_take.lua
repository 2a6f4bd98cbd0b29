-- Takes permits of a semaphore (RSemaphore), if there are enough.
-- KEYS: the semaphore, the record of this request.
-- ARGV: how many permits, for how many milliseconds to remember this request.
-- Returns 1 if they were taken, 0 if there are too few, or -1 if the request was undone before it came.
local semaphore, record = KEYS[1], KEYS[2]
local state = redis.call('get', record)
if state then
  return state == 'undone' and -1 or 1
end
local value = redis.call('get', semaphore) or '0'
if not string.match(value, '^-?%d+$') or #value > 16 then
  return redis.error_reply('DAMAGED the number of permits is none')
elseif tonumber(value) < tonumber(ARGV[1]) then
  return 0
end
redis.call('decrby', semaphore, ARGV[1])
redis.call('set', record, ARGV[1], 'px', ARGV[2])
return 1
