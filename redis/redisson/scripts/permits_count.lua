-- Counts permits. Those whose leases have ended are available again first, as in Redisson.
-- KEYS: see permits.lua; the channel.
-- ARGV: clock; PUBLISH or SPUBLISH.
-- Returns {how many are available, how many are held}.
local count, damaged = readCount()
if damaged then return damaged end
local refused = cannotPublish(ARGV[2], KEYS[4])
if refused then return refused end
local ended = redis.call('zremrangebyscore', held, '-inf', text(early))
if ended > 0 and count then count = give(ended, ARGV[2], KEYS[4]) end
return {tonumber(count) or 0, redis.call('zcard', held)}
