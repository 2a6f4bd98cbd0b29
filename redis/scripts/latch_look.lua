-- latch_look.lua: reads a latch.
--   KEYS  latch, token of one name
--   Answers {generation, what is left, ttl (ms)}, or 0 if the latch is not set.
-- use latching.lua
local generation, left = read(KEYS[1])
if not generation then return left or 0 end
return {generation, left, redis.call('PTTL', KEYS[1])}
