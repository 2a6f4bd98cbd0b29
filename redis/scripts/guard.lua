-- guard.lua: says for how long no lease may be granted in what a marker guards, a server or one slot of a Cluster, because leases that another server
-- has granted may be missing there. IDENTITY is that of the server on which it runs.
--   KEYS  the marker: "<identity of the server that granted last> <state> <since when (ms)> <the longest ttl (ms)> <nodes> <by whom it was opened>"
--         state: open, or shut until the longest ttl has passed: new (there was no marker: nobody has seen the server in use) or other (another server's),
--         or shut until somebody finds that the slot stays, and the longest ttl has passed: moving (it was on its way to another server)
--         nodes: in which list of servers that are used together it is (see nodes.lua), - if in none
--   ARGV  the longest ttl (ms), how long ago another server was seen in the place of this one (ms, -1 if there was none),
--         for how long a server that was seen is believed to be there (ms), and whatever to only look
--   Answers {for how many ms grants stay closed, state, nodes as they are in the marker, the marker if it is new or moving, or nothing}.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, away, raw = tonumber(ARGV[1]), tonumber(ARGV[2]), call('GET', KEYS[1])
local who, state, since, before, nodes, by = string.match(raw or '', '^(%S+) (%l+) (%d+) (%d+) (%S+) ?([^\n]*)$')
since, before = tonumber(since), math.min(tonumber(before or 0), LONGEST) -- nobody waits for ever for what another program has written
if who ~= IDENTITY then
  state, since, nodes, by = who and 'other' or 'new', now, nodes or '-', ''
elseif away >= 0 and since < now - away + tonumber(ARGV[3]) then
  -- Since then another one has been in its place, and may have granted what this one does not know.
  state, since, by = 'other', now, ''
end
local left = 0
if state == 'moving' then
  longest = math.max(longest, before)
  left = longest
elseif state ~= 'open' or longest > before and by == '' then -- who has opened it may not have known of leases that are this long
  longest = math.max(longest, before)
  since = math.min(since, now) -- the clock may have been set back
  left = math.max(since + longest - now, 0)
  state = left == 0 and 'open' or state == 'open' and 'other' or state
end
local marker = string.format('%s %s %.0f %.0f %s', IDENTITY, state, since, math.max(longest, before), nodes) .. (by ~= '' and ' ' .. by or '')
if marker ~= raw and not ARGV[4] then
  call('PEXPIRE', KEYS[1], LONGEST) -- needs no memory: when the server has none left, what follows the first change is allowed
  call('SET', KEYS[1], marker)
end
return {left, state, nodes, (state == 'new' or state == 'moving') and marker or ''}
