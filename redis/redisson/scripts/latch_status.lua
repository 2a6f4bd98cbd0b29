-- Reads a latch.
-- KEYS: see latch.lua.
-- ARGV: 1 to read only latches that programs in Go have used; the generation for which somebody waits, or ''.
-- Returns {generation, count, milliseconds to live}, or 0 if the latch is not set. For a waiter, the count is 0 if that
-- generation has come down to zero, whatever has been set since. Generation 0 with a count is then one that is not
-- known, as the hash is gone: it may be the same one.
local type = redis.call('type', latch).ok
if ARGV[1] == '1' and (redis.call('type', ours).ok ~= 'hash' or type ~= 'string' and type ~= 'none') then return 0 end
local generation, count, left = read()
if not generation then return ARGV[1] ~= '1' and count or 0 end
if generation == '0' and ARGV[2] ~= '' and ARGV[2] ~= '0' then
  local known = redis.call('hmget', ours, 'generation', 'before')
  if known[1] == ARGV[2] or known[2] == ARGV[2] then count = 0 end -- a program in Java has set it anew
end
return {generation, count, left}
