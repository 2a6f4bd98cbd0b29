-- release.lua: makes sure that an owner neither holds nor waits, and hands over to the next waiter.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), keep (ms for which it stays taken),
--         place in the queue ("" for the owner), "1" to keep the head for the next owner of the same call, closed
--   Answers 1 if the owner held, 0 if not.
--
-- A place stays if another owner of the call waits there. To keep the head for the next owner, the place of an owner
-- that held becomes the head of the queue again, and that of an owner that waited stays where it is. Its record is that
-- of a polling waiter: nothing is granted there before a new owner has come. Only engines with WithReplicas ask for
-- that, when they undo a grant that too few replicas confirmed.
local OWNER, FLOOR, PLACE, KEEPS_HEAD, CLOSED = ARGV[1], ARGV[2], ARGV[4], ARGV[5] == '1', ARGV[6]
if PLACE == '' then PLACE = OWNER end

-- use lock.lua

local ms, held = tonumber(ARGV[3]), 0
expireShared()
if holds(OWNER) then
  held = 1
  if ms > 0 then
    value = string.sub(value, #OWNER + 1)
    call('SET', VALUE, value, 'PX', ms)
  else
    value = false
    call('DEL', VALUE)
  end
elseif sharedUntil(OWNER) then
  held = 1
  local n = sharedWeight()
  if ms > 0 then
    local detail = call('HGET', INFO, 'h' .. OWNER)
    local nobody = 'kept ' .. string.match(detail, '^%d+ (%d+)')
    removeShared(OWNER)
    call('ZADD', HOLDERS, now + ms, nobody)
    call('HSET', INFO, 'h' .. nobody, detail)
  else
    n = n - removeShared(OWNER)
  end
  setShared(n)
end
local waiting, changed = call('ZSCORE', QUEUE, PLACE), held == 1
local mine = ownerAt(PLACE) == OWNER
if KEEPS_HEAD and (held == 1 or waiting and mine) then
  local first = call('ZRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
  if held == 1 then call('ZADD', QUEUE, first and first / 2 or 1, PLACE) end
  if mine or not waiting then
    -- The record keeps ticket and process, so that a late request of the leaving owner is recognized.
    local before = readWaiter(PLACE) or {ticket = '0', process = '-'}
    local record = string.format('s 1 2147483647 0 1 %.0f %.0f - %s %s\n', now, now, before.ticket, before.process)
    call('HSET', INFO, 'w' .. PLACE, record, 'o' .. PLACE, '!' .. OWNER)
  end
  extendKey(QUEUE, QUEUE_KEPT_FOR)
  extendKey(INFO, QUEUE_KEPT_FOR)
  changed = true -- for the second waiter, too: see notifySecond
elseif mine then
  changed = leaveQueue(PLACE) or changed
end
handOver(nil, changed)
updateMarks()
return held
