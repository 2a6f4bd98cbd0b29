-- leak_sweep.lua: removes the leak in one key of a name, if it is still the one that was found, and hands over to the
-- next waiter.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  part, sort and mark as in leak_find.lua; for the queue also the place after which to begin, and how many
--         places to check; then floor (the client's clock, us), how many earlier steps removed, closed
--   Answers {how many were removed, the last place checked, or nothing if no place follows, and 1 or 0 as force.lua
--   does}.
local part, floor, before, closed = ARGV[1], ARGV[6], tonumber(ARGV[7]), ARGV[8]

-- use lock.lua
-- use leak_checks.lua
local sort, count, found, dead = leaks[part](ARGV[4], ARGV[5])
if sort ~= ARGV[2] or sort ~= 'waiters' and found ~= ARGV[3] then return {0, '', 0} end
if sort == 'token' then -- the token itself is kept: later ones must be larger
  call('PEXPIRE', tokenKey, tokenTTL(counter()))
  return {1, '', 0}
end
if sort == 'waiters' then
  for _, place in ipairs(dead) do leaveQueue(place) end
  -- Do not hand over yet: the next waiters may be dead, too, and this step would have to skip them all.
  if found ~= '' then return {count, found, 0} end
elseif sort == 'lease' then
  value = false
  call('DEL', valueKey)
elseif part == 'value' then
  expireShared()
else
  call('DEL', part == 'queue' and queueKey or part == 'holders' and holdersKey or infoKey)
  if leaks.info() then call('DEL', infoKey) end
end
if before + count > 0 then
  handOver(nil, true)
  updateMarks()
end
return {count, '', unfinished and hasWaiters() and 1 or 0}
