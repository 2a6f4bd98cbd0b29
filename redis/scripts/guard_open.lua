-- guard_open.lua: opens what a marker guards (see guard.lua), because somebody says that no lease is missing there.
-- IDENTITY is that of the server.
--   KEYS  the marker
--   ARGV  longest ttl (ms), who says so and why, 1 to open only if there is a marker
--   Answers 1, or 0 if there is no marker.
local call = redis.call
local time = call('TIME')
local raw = call('GET', KEYS[1])
if ARGV[3] == '1' and not raw then return 0 end
local recordedMax, nodes = string.match(raw or '', '^%S+ %l+ %d+ (%d+) (%S+)')
call('PEXPIRE', KEYS[1], LONGEST_TTL) -- see guard.lua
call('SET', KEYS[1], string.format('%s open %.0f %.0f %s %s', IDENTITY, time[1] * 1000 + math.floor(time[2] / 1000),
  math.max(tonumber(ARGV[1]), math.min(tonumber(recordedMax or 0), LONGEST_TTL)), nodes or '-', ARGV[2]))
return 1
