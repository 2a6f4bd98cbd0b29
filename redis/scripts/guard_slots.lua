-- guard_slots.lua: says since when a master of a Cluster has had a slot without a marker. If it has had the slot for
-- longer than leases last, no other master has granted anything there that is still valid, and nothing is missing.
-- IDENTITY is that of the master.
--   KEYS  the record of the master:
--         "<identity> <since (ms)> <longest ttl (ms)> <config epoch> <slots> <marked> <opened by>"
--         marked: the slots that have had a marker on this master, one bit for each in 4096 hexadecimal digits,
--         or - if nobody has looked yet
--   ARGV  longest ttl (ms); config epoch and slots ("0-99,200-200") as the master says now; a slot;
--         who declares the master open, and why (then the record is written anew), or nothing;
--         which slots have a marker, if known; anything to only look
--   Answers {1 if it has had the slot since the record was written, else 0, since when (ms),
--            for how many ms grants stay closed, 1 if somebody has looked for markers}.
--
-- The config epoch of a master grows when it imports a slot. So while the epoch stays the same, no slot of the record
-- was away; except one that was given back by hand, without a new epoch and without its keys. So the record counts
-- for a slot only until the slot has a marker: if the marker has disappeared, leases may have, too.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, epoch, ranges, slot, onlyLook = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[7]
local raw = call('GET', KEYS[1])
local who, since, recordedMax, recordedEpoch, recordedRanges, marked, openedBy = string.match(raw or '',
  '^(%S+) (%d+) (%d+) (%S+) (%S+) (%S+) ?([^\n]*)$')
local hadSlot = 0
if who == IDENTITY and recordedEpoch == epoch and ARGV[5] == '' then
  for first, last in string.gmatch(recordedRanges, '(%d+)-(%d+)') do
    if tonumber(first) <= slot and slot <= tonumber(last) then hadSlot = 1 end
  end
end
longest = math.max(longest, math.min(tonumber(recordedMax or 0), LONGEST_TTL)) -- see guard.lua
if hadSlot == 1 then
  ranges, since = recordedRanges, math.min(tonumber(since), now) -- the clock may have been set back
  if #marked ~= 4096 or string.find(marked, '%X') then marked = '-' end
else
  since, openedBy, marked = now, ARGV[5], ARGV[6] ~= '' and ARGV[6] or '-'
end
local left = openedBy ~= '' and 0 or math.max(since + longest - now, 0)
local record = string.format('%s %.0f %.0f %s %s %s', IDENTITY, since, longest, epoch, ranges, marked)
  .. (openedBy ~= '' and ' ' .. openedBy or '')
if record ~= raw and not onlyLook then
  call('PEXPIRE', KEYS[1], LONGEST_TTL) -- see guard.lua
  call('SET', KEYS[1], record)
end
if not onlyLook and hadSlot == 1 then
  local digit = marked ~= '-' and tonumber(string.sub(marked, math.floor(slot / 4) + 1, math.floor(slot / 4) + 1), 16)
  if not digit or math.floor(digit / 2 ^ (slot % 4)) % 2 == 1 then hadSlot, left = 0, longest end
end
return {hadSlot, since, left, marked ~= '-' and 1 or 0}
