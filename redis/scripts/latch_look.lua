-- latch_look.lua: reads a latch.
--   KEYS  latch, token of one name
--   Answers {generation, what is left, ttl (ms)}, or 0 if the latch is not set.
local latch = redis.call('HMGET', KEYS[1], 'generation', 'left')
if not latch[2] then return 0 end
return {latch[1], tonumber(latch[2]), redis.call('PTTL', KEYS[1])}
