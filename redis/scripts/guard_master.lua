-- guard_master.lua: says since when a master of a Cluster has had a slot in which nobody has left a marker. A slot that it has had for longer than
-- leases last has been used by nobody else, and lost nothing. IDENTITY is that of the master.
--   KEYS  the record: "<identity of a master> <since when (ms)> <the longest ttl (ms)> <its config epoch> <its slots> <marked> <by whom it was opened>"
--         marked: the slots that have had a marker on this master, a bit for each in 4096 hexadecimal digits, or - if nobody has looked yet
--   ARGV  the longest ttl (ms), config epoch and slots ("0-99,200-200") as the master has just told them, a slot,
--         by whom the master is declared open (then the record is made anew) or nothing, which slots have a marker if that is known, and whatever to only look
--   Answers {1 if it has had the slot since the record was made, else 0, since when (ms), for how many ms grants stay closed, 1 if somebody has looked}.
--
-- The config epoch of a master grows when it imports a slot, so as long as it has the same one, no slot of the record was away; unless one was given back by
-- hand, without a new epoch and without its keys. So the record speaks for a slot only until that has a marker: if the marker has gone, so may leases.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, epoch, areas, slot, look = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[7]
local raw = call('GET', KEYS[1])
local who, since, before, then_epoch, then_areas, marked, by = string.match(raw or '', '^(%S+) (%d+) (%d+) (%S+) (%S+) (%S+) ?([^\n]*)$')
local had = 0
if who == IDENTITY and then_epoch == epoch and ARGV[5] == '' then
  for first, last in string.gmatch(then_areas, '(%d+)-(%d+)') do
    if tonumber(first) <= slot and slot <= tonumber(last) then had = 1 end
  end
end
longest = math.max(longest, math.min(tonumber(before or 0), LONGEST)) -- see guard.lua
if had == 1 then
  areas, since = then_areas, math.min(tonumber(since), now) -- the clock may have been set back
  if #marked ~= 4096 or string.find(marked, '%X') then marked = '-' end
else
  since, by, marked = now, ARGV[5], ARGV[6] ~= '' and ARGV[6] or '-'
end
local left = by ~= '' and 0 or math.max(since + longest - now, 0)
local record = string.format('%s %.0f %.0f %s %s %s', IDENTITY, since, longest, epoch, areas, marked) .. (by ~= '' and ' ' .. by or '')
if record ~= raw and not look then
  call('PEXPIRE', KEYS[1], LONGEST) -- see guard.lua
  call('SET', KEYS[1], record)
end
if not look and had == 1 then
  local digit = marked ~= '-' and tonumber(string.sub(marked, math.floor(slot / 4) + 1, math.floor(slot / 4) + 1), 16)
  if not digit or math.floor(digit / 2 ^ (slot % 4)) % 2 == 1 then had, left = 0, longest end
end
return {had, since, left, marked ~= '-' and 1 or 0}
