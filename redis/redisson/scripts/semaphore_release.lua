-- Gives permits back, adds some, or takes some away.
-- KEYS: the semaphore, its channel, the record of this request.
-- ARGV: how many permits, for how many milliseconds to remember this request, PUBLISH or SPUBLISH, 1 if the semaphore
-- must exist.
-- Returns 1, or 0 if it does not exist.
local semaphore, channel, record = KEYS[1], KEYS[2], KEYS[3]
if redis.call('exists', record) == 1 then
  return 1
end
local value = redis.call('get', semaphore)
if ARGV[4] == '1' and not value then
  return 0
elseif value and (not string.match(value, '^-?%d+$') or #value > 16) then
  return redis.error_reply('DAMAGED the number of permits is none')
end
local refused = cannotPublish(ARGV[3], channel)
if refused then return refused end
value = redis.call('incrby', semaphore, ARGV[1])
redis.call('set', record, 'done', 'px', ARGV[2])
redis.call(ARGV[3], channel, value)
return 1
