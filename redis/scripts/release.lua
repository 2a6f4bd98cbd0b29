-- release.lua: makes sure that an owner neither holds nor waits, and hands over to the next waiter.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), keep (ms for which it stays taken),
--         place in the queue ("" for the owner), "1" to keep the head for the next owner of the same call, closed
--   Answers 1 if the owner held, 0 if not; and 2 more if it has to be handed over to others, too (unfinished in
--   lock.lua). The owner NOBODY only hands over.
--
-- A place stays if another owner of the call waits there. To keep the head for the next owner, the place of an owner
-- that held becomes the head of the queue again, and that of an owner that waited stays where it is. Its record is that
-- of a polling waiter: nothing is granted there before a new owner has come. Only engines with WithReplicas ask for
-- that, when they undo a grant that too few replicas confirmed.
local owner, floor, keep, place, keepsHead, closed = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1', ARGV[6]
if place == '' then place = owner end

-- use release_to_head.lua
-- use lock.lua

local ms, held = tonumber(keep), 0
expireShared()
if holds(owner) then
  held = 1
  if ms > 0 then
    value = string.sub(value, #owner + 1)
    call('SET', valueKey, value, 'PX', ms)
  else
    value = false
    call('DEL', valueKey)
  end
elseif sharedUntil(owner) then
  held = 1
  local n = sharedWeight()
  if ms > 0 then
    local detail = call('HGET', infoKey, 'h' .. owner)
    local nobody = 'kept ' .. string.match(detail, '^%d+ (%d+)')
    removeShared(owner)
    call('ZADD', holdersKey, now + ms, nobody)
    call('HSET', infoKey, 'h' .. nobody, detail)
  else
    n = n - removeShared(owner)
  end
  setShared(n)
end
local waiting, changed = call('ZSCORE', queueKey, place), held == 1 or owner == NOBODY
local mine = ownerAt(place) == owner
if keepsHead and (held == 1 or waiting and mine) then
  local first = call('ZRANGE', queueKey, 0, 0, 'WITHSCORES')[2]
  if held == 1 then call('ZADD', queueKey, first and first / 2 or 1, place) end
  if mine or not waiting then
    -- The record keeps ticket and process, so that a late request of the leaving owner is recognized.
    local before = readWaiter(place) or {ticket = '0', process = '-'}
    local record = string.format('s 1 2147483647 0 1 %.0f %.0f - %s %s\n', now, now, before.ticket, before.process)
    call('HSET', infoKey, 'w' .. place, record, 'o' .. place, '!' .. owner)
  end
  extendKey(queueKey, QUEUE_KEPT_FOR)
  extendKey(infoKey, QUEUE_KEPT_FOR)
  changed = true -- for the second waiter, too: see notifySecond
elseif mine then
  changed = leaveQueue(place) or changed
end
handOver(nil, changed)
updateMarks()
return held + (unfinished and hasWaiters() and 2 or 0)
