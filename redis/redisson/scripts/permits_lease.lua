-- Reads what is left of the lease of a permit. It changes nothing.
-- KEYS: see permits.lua.
-- ARGV: clock; the id.
-- Returns milliseconds, -1 if it has no end, or nothing if nobody holds it.
local score = tonumber(redis.call('zscore', held, ARGV[2]) or nil)
if not score or score <= early then return false end
return score >= endless and -1 or score - early
