-- Undoes a request for permits whose outcome is not known, and refuses it if it comes later.
-- KEYS: the semaphore, its channel, the record of the request.
-- ARGV: how many permits, for how many milliseconds to remember this, PUBLISH or SPUBLISH.
-- Returns 1.
local semaphore, channel, record = KEYS[1], KEYS[2], KEYS[3]
local state = redis.call('get', record)
redis.call('set', record, 'undone', 'px', ARGV[2])
if state == 'done' then
  redis.call(ARGV[3], channel, redis.call('incrby', semaphore, ARGV[1]))
end
return 1
