-- release.lua: makes sure that an owner neither holds nor waits, and hands over to the next.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), keep (ms for which to leave it taken),
--         place in the queue ("" for the owner), "1" if the next owner of the same call is to have its turn, closed
--   Answers 1 if the owner held, 0 if not.
--
-- A place at which another owner of the call waits stays. If the next one is to have the turn, the place of an owner who held becomes the head, and that of one
-- who waited stays, for somebody who comes and looks: nobody is granted anything there before a new owner has come.
local OWNER, FLOOR, PLACE, TURN, CLOSED = ARGV[1], ARGV[2], ARGV[4], ARGV[5] == '1', ARGV[6]
if PLACE == '' then PLACE = OWNER end

-- use entry.lua

local ms, held = tonumber(ARGV[3]), 0
settle()
if owns(OWNER) then
  held = 1
  if ms > 0 then
    value = string.sub(value, #OWNER + 1)
    call('SET', VALUE, value, 'PX', ms)
  else
    value = false
    call('DEL', VALUE)
  end
elseif shares(OWNER) then
  held = 1
  local n = used()
  if ms > 0 then
    local detail = call('HGET', INFO, 'h' .. OWNER)
    local nobody = 'kept ' .. string.match(detail, '^%d+ (%d+)')
    take_out(OWNER)
    call('ZADD', HOLDERS, now + ms, nobody)
    call('HSET', INFO, 'h' .. nobody, detail)
  else
    n = n - take_out(OWNER)
  end
  share(n)
end
local waiting, changed = call('ZSCORE', QUEUE, PLACE), held == 1
local mine = at(PLACE) == OWNER
if TURN and (held == 1 or waiting and mine) then
  local first = call('ZRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
  if held == 1 then call('ZADD', QUEUE, first and first / 2 or 1, PLACE) end
  if mine or not waiting then
    local before = waiter(PLACE) or {ticket = 0, process = '-'} -- so that a late request of the owner who goes is known
    call('HSET', INFO, 'w' .. PLACE, string.format('s 1 2147483647 0 1 %.0f %.0f - %s %s\n', now, now, before.ticket, before.process), 'o' .. PLACE, '!' .. OWNER)
  end
  keep(QUEUE, LINGER)
  keep(INFO, LINGER)
  changed = true -- for the second, too: see warn
elseif mine then
  changed = leave(PLACE) or changed
end
serve(nil, changed)
mark()
return held
