-- Deletes a latch: waiters go on as if it were at zero, and so it is remembered by programs in Go that use it.
-- KEYS: see latch.lua; the channel.
-- ARGV: PUBLISH or SPUBLISH.
-- Returns 1 if it was above zero, else 0.
local generation, count = read()
if not generation then return count or 0 end
local refused = cannotPublish(ARGV[1], KEYS[4])
if refused then return refused end
if redis.call('del', latch) == 0 then return 0 end
redis.call(ARGV[1], KEYS[4], '0')
return 1
