-- downgrade.lua: turns an exclusive holder into a shared one, which keeps its lease and its tokens, and grants to
-- waiting readers.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), closed
--   Answers 1 if the owner is a shared holder now, 0 if it does not hold.
local OWNER, FLOOR, CLOSED = ARGV[1], ARGV[2], ARGV[3]

-- use lock.lua

expireShared()
if not holds(OWNER) then return sharedUntil(OWNER) and 1 or 0 end
local ms = call('PTTL', VALUE)
if ms <= 0 then ms = FIRST_LEASE end -- somebody removed the ttl
local detail = string.gsub(string.sub(value, #OWNER + 2), '\nq?$', '')
value = false
expireShared() -- drop what is left of earlier shared holders
call('HSET', INFO, 'h' .. OWNER, '1 ' .. detail)
call('ZADD', HOLDERS, now + ms, OWNER)
setShared(1)
handOver(nil, true)
updateMarks()
return 1
