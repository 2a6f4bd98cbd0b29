-- node_list.lua: puts a server into a list of servers that are used together. The list is a word in its marker (see
-- guard.lua), which must exist.
--   KEYS  the marker
--   ARGV  the word as it must still be (- for none), the new word, and the longest ttl (ms) to close grants for that
--         long
--   Answers the word that the marker has now.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local who, state, since, longest, nodes, openedBy = string.match(call('GET', KEYS[1]) or '',
  '^(%S+) (%l+) (%d+) (%d+) (%S+) ?([^\n]*)$')
if who ~= IDENTITY or nodes ~= ARGV[1] then return nodes or '-' end
if ARGV[3] then
  state, since, longest, openedBy = 'other', now, math.max(longest, tonumber(ARGV[3])), ''
end
call('PEXPIRE', KEYS[1], LONGEST_TTL) -- see guard.lua
call('SET', KEYS[1], string.format('%s %s %.0f %.0f %s', who, state, since, longest, ARGV[2])
  .. (openedBy ~= '' and ' ' .. openedBy or ''))
return ARGV[2]
