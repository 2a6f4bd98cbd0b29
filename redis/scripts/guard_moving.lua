-- guard_moving.lua: closes a slot of a Cluster that is moving to another master, in case it stays and the keys that
-- have left do not come back. IDENTITY is that of the server.
--   KEYS  the marker
--   Answers 1, or 0 if there is no marker.
local call = redis.call
local time = call('TIME')
local raw = call('GET', KEYS[1])
local longest, nodes = string.match(raw or '', '^%S+ %l+ %d+ (%d+) (%S+)')
if not longest then return 0 end
call('PEXPIRE', KEYS[1], LONGEST_TTL) -- see guard.lua
call('SET', KEYS[1], string.format('%s moving %.0f %s %s',
  IDENTITY, time[1] * 1000 + math.floor(time[2] / 1000), longest, nodes))
return 1
