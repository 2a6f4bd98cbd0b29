-- Gives back all permits of an owner, or leaves them taken for a while.
-- KEYS: see permits.lua; the channel.
-- ARGV: clock; owner, PUBLISH or SPUBLISH, for how many milliseconds to leave them taken, by which owner.
-- Returns 1 if the owner held them, else 0.
local owner, command, pause, keeper = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local ids, known, ends = find(owner)
if #ids == 0 then return 0 end
redis.call('zrem', held, unpack(ids))
redis.call('hdel', holders, owner)
if pause == 0 or not ends then
  give(#ids, command, KEYS[4])
  return ends and 1 or 0
end
local kept = {}
for i = 1, #ids do kept[i] = permit(keeper, i) end
if known then redis.call('hset', holders, keeper, known) end
keep(kept, pause)
publish(command, KEYS[4], #ids) -- they may come back earlier than waiters were told
return 1
