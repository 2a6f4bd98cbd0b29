-- pass.lua: passes a lock from its holder to another owner, if nobody waits here; or takes it for that owner, if it is
-- free here. Only redlock uses it.
--   KEYS  value, token of one name
--   ARGV  the holder; as for take_free.lua: the value, ttl (ms), floor
--   Answers 1 if the holder held, 2 if the lock was free, and 0 if nothing was done: somebody else holds, or the token
--   would not be the floor; or 3 if nothing was done because others wait here.
local call = redis.call
-- use exclusive.lua
-- use token_ttl.lua
local function pass(valueKey, tokenKey, holder, text, ttl, floorText)
-- use pass_steps.lua
end
return pass(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
