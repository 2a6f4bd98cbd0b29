-- guard.lua: says for how long no lease may be granted in what a marker guards, a server or one slot of a Cluster,
-- because leases that another server granted may be missing there. IDENTITY is that of the server that runs it.
--   KEYS  the marker:
--         "<identity of the server that granted last> <state> <since (ms)> <longest ttl (ms)> <nodes> <opened by>"
--         state: open;
--                new (there was no marker: nobody has seen the server in use) or other (it was another server's):
--                closed until the longest ttl has passed since then;
--                moving (the slot was moving to another server): closed until somebody finds that the slot stays, and
--                for the longest ttl after that
--         nodes: the list of servers that are used together to which it belongs (see node_list.lua), - if to none
--   ARGV  longest ttl (ms); how long ago another server was seen in the place of this one (ms, -1 if none was);
--         for how long a server that was seen is trusted to be there (ms); anything to only look
--   Answers {for how many ms grants stay closed, state, nodes as in the marker,
--            the marker if it is new or moving, else nothing}.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, otherSeenAgo, raw = tonumber(ARGV[1]), tonumber(ARGV[2]), call('GET', KEYS[1])
local who, state, since, recordedMax, nodes, openedBy = string.match(raw or '',
  '^(%S+) (%l+) (%d+) (%d+) (%S+) ?([^\n]*)$')
-- Do not wait for ever for a time that another program has written.
since, recordedMax = tonumber(since), math.min(tonumber(recordedMax or 0), LONGEST)
if who ~= IDENTITY then
  state, since, nodes, openedBy = who and 'other' or 'new', now, nodes or '-', ''
elseif otherSeenAgo >= 0 and since < now - otherSeenAgo + tonumber(ARGV[3]) then
  -- Since then another server has been in its place, and may have granted what this one does not know.
  state, since, openedBy = 'other', now, ''
end
local left = 0
if state == 'moving' then
  longest = math.max(longest, recordedMax)
  left = longest
elseif state ~= 'open' or longest > recordedMax and openedBy == '' then
  -- Whoever opened it may not have known of leases that are this long.
  longest = math.max(longest, recordedMax)
  since = math.min(since, now) -- the clock may have been set back
  left = math.max(since + longest - now, 0)
  state = left == 0 and 'open' or state == 'open' and 'other' or state
end
local marker = string.format('%s %s %.0f %.0f %s', IDENTITY, state, since, math.max(longest, recordedMax), nodes)
  .. (openedBy ~= '' and ' ' .. openedBy or '')
if marker ~= raw and not ARGV[4] then
  -- This needs no memory. After its first change, a script may go on even if the server has none left.
  call('PEXPIRE', KEYS[1], LONGEST)
  call('SET', KEYS[1], marker)
end
return {left, state, nodes, (state == 'new' or state == 'moving') and marker or ''}
