-- guard_held_since.lua: writes into the marker of a new server, or of a slot that stays where it is, since when its
-- server has had what it guards. See guard.lua and guard_slots.lua.
--   KEYS  the marker
--   ARGV  the marker as it must still be; since when (ms), or nothing for now; 1 if it is open in any case
--   Answers for how many ms grants stay closed, or -1 if the marker has changed.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local who, state, longest, nodes = string.match(ARGV[1], '^(%S+) (%l+) %d+ (%d+) (%S+)$')
local since = tonumber(ARGV[2]) or now
local left = ARGV[3] == '1' and 0 or math.max(since + tonumber(longest) - now, 0)
state = left == 0 and 'open' or state == 'moving' and 'other' or state
call('SET', KEYS[1], string.format('%s %s %.0f %s %s', who, state, since, longest, nodes))
return left
