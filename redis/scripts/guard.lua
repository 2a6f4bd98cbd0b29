-- guard.lua: says for how long no lease may be granted in what a marker guards, a server or one slot of a Cluster,
-- because leases that another server granted may be missing there. IDENTITY is that of the server that runs it.
--   KEYS  the marker:
--         "<identity of the server that granted last> <state> <since (ms)> <longest ttl (ms)> <nodes> <opened by>"
--         state: open;
--                new (there was no marker: this server has no record of earlier use) or
--                other (it was another server's): closed until the longest ttl has passed since then;
--                moving (the slot was moving to another server): closed until somebody finds that the slot stays, and
--                for the longest ttl after that
--         nodes: the list of servers that are used together to which it belongs (see node_list.lua), - if to none
--   ARGV  longest ttl (ms); how long ago another server was seen in the place of this one (ms, -1 if none was);
--         for how long a server that was seen is trusted to be there (ms); anything to only look
--   Answers {for how many ms grants stay closed, state, nodes as in the marker,
--            the marker if it is new or moving, else nothing}.
--
-- How a server is found to be another one, and grants are closed there:
--   1. A program sends a script to the server that it knows (runScriptOnce, run_script.go). The identity of that server
--      is in the text of the script, and so in its hash: any other server answers NOSCRIPT, and has done nothing.
--   2. The program asks the server what it is (findServer, router.go; identifyServer, identify_server.go). All goes
--      over one connection: INFO gives the identity, the scripts for it are loaded, the user's rights are checked.
--   3. On the same connection it runs this script (readMarker, identify_server.go). The marker is missing or names
--      another server, so this script writes a new one, and answers for how long grants are closed.
--   4. The program remembers that (noteVerified, in the same file) before anybody can find the server, and sends the
--      request of step 1 again. While grants are closed, it sends scripts that may grant with the argument closed
--      set to "1", and those that have no such argument not at all (runScriptOnce). Renewals and releases go on.
--   5. As long as it locks there it verifies the server each second, which runs this script again. Once the time has
--      passed, this script writes the state open.
-- In a Cluster step 3 is left out: each slot has a marker. check_marker.lua refuses with CLOSED where that is not open
-- for this server, and the program then runs this script for the slot (refreshMarker and fetchMarker, marker.go).
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, otherSeenAgo, raw = tonumber(ARGV[1]), tonumber(ARGV[2]), call('GET', KEYS[1])
local who, state, since, recordedMax, nodes, openedBy = string.match(raw or '',
  '^(%S+) (%l+) (%d+) (%d+) (%S+) ?([^\n]*)$')
-- Do not wait for ever for a time that another program has written.
since, recordedMax = tonumber(since), math.min(tonumber(recordedMax or 0), LONGEST_TTL)
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
  -- SET removes this expiry again. PEXPIRE comes first because it is allowed on a server that has no memory left, even
  -- without the key; and after the first command that may change something, a script may go on with all others.
  call('PEXPIRE', KEYS[1], LONGEST_TTL)
  call('SET', KEYS[1], marker)
end
return {left, state, nodes, (state == 'new' or state == 'moving') and marker or ''}
