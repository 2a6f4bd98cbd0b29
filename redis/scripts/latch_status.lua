-- latch_status.lua: reads a latch.
--   KEYS  latch, token of one name
--   Answers {generation, count, ttl (ms)}, or 0 if the latch is not set.
-- use latch.lua
local generation, left = readLatch(KEYS[1])
if not generation then return left or 0 end
return {generation, left, redis.call('PTTL', KEYS[1])}
