-- release.lua: makes sure that an owner neither holds nor waits, and hands over to the next.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), keep (ms for which to leave it taken), closed
--   Answers 1 if the owner held, 0 if not.
local OWNER, FLOOR, CLOSED = ARGV[1], ARGV[2], ARGV[4]

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
local left = leave(OWNER)
serve(nil, left or held == 1)
mark()
return held
