-- Reads a latch.
-- KEYS: see latch.lua.
-- ARGV: 1 to read only latches that programs in Go have used.
-- Returns {generation, count, milliseconds to live}, or 0 if the latch is not set.
local type = redis.call('type', latch).ok
if ARGV[1] == '1' and (redis.call('type', ours).ok ~= 'hash' or type ~= 'string' and type ~= 'none') then return 0 end
local generation, count, left = read()
if not generation then return ARGV[1] ~= '1' and count or 0 end
return {generation, count, left}
