-- take_free.lua: takes a lock that nobody holds or waits for.
--   KEYS  value, token of one name
--   ARGV  the value, ttl (ms), floor (the smallest token allowed), which is also the token in the value,
--         floor + tokens - 1 if that differs
--   Answers the token if it is granted. 1: granted, with the floor as token. -1: held by somebody else, without expiry.
--           -2 or less: held for another -2 - answer ms; LINGERS less than that if the holder can be recalled.
--           0: only take.lua can decide.
local call, valueKey, tokenKey = redis.call, KEYS[1], KEYS[2]
local text, ttl, floorText, lastText = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- use token_ttl.lua
-- use take_steps.lua
