-- Undoes a request for permits whose outcome is not known, and refuses it if it comes later.
-- KEYS: the semaphore, its channel, the record of the request: how many permits it has taken.
-- ARGV: for how many milliseconds to remember this, PUBLISH or SPUBLISH.
-- Returns 1.
local semaphore, channel, record = KEYS[1], KEYS[2], KEYS[3]
local taken = redis.call('get', record)
redis.call('set', record, 'undone', 'px', ARGV[1])
if taken and taken ~= 'undone' then
  redis.call(ARGV[2], channel, redis.call('incrby', semaphore, taken))
end
return 1
