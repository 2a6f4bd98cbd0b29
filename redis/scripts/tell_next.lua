-- tell_next.lua: included by other scripts. tellNext returns the end of a message that grants a lock to a waiter of
-- redlock: who waits behind it, by that one's record. That is empty if hand_over.lua could not pass it the lock.
local function tellNext(record)
  local ttl, number, process, text = string.match(record or '',
    '^x 1 %d+ (%d+) 1 %d+ %d+ P (%d+)[-%x]* (~%x+)\n(.*)$')
  return ttl and '\0' .. number .. ' ' .. process .. '\0' .. ttl .. '\0' .. text or ''
end
