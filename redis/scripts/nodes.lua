-- nodes.lua: puts a server into a list of servers that are used together. The list is a word in its marker (see guard.lua), which must be there.
--   KEYS  the marker
--   ARGV  the word as it must still be (- if there is none), the new one, and to close grants for the longest ttl, that (ms)
--   Answers the word that is there now.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local who, state, since, longest, nodes, by = string.match(call('GET', KEYS[1]) or '', '^(%S+) (%l+) (%d+) (%d+) (%S+) ?([^\n]*)$')
if who ~= IDENTITY or nodes ~= ARGV[1] then return nodes or '-' end
if ARGV[3] then
  state, since, longest, by = 'other', now, math.max(longest, tonumber(ARGV[3])), ''
end
call('PEXPIRE', KEYS[1], LONGEST) -- see guard.lua
call('SET', KEYS[1], string.format('%s %s %.0f %.0f %s', who, state, since, longest, ARGV[2]) .. (by ~= '' and ' ' .. by or ''))
return ARGV[2]
