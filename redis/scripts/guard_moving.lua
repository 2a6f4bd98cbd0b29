-- guard_moving.lua: shuts a slot of a Cluster that is on its way to another master, for the case that it stays and what has left does not come back.
-- IDENTITY is that of the server.
--   KEYS  the marker
--   Answers 1, or 0 if there is no marker.
local call = redis.call
local time = call('TIME')
local raw = call('GET', KEYS[1])
local longest, nodes = string.match(raw or '', '^%S+ %l+ %d+ (%d+) (%S+)')
if not longest then return 0 end
call('PEXPIRE', KEYS[1], LONGEST) -- see guard.lua
call('SET', KEYS[1], string.format('%s moving %.0f %s %s', IDENTITY, time[1] * 1000 + math.floor(time[2] / 1000), longest, nodes))
return 1
