-- downgrade.lua: turns an exclusive holder into a shared one, which keeps its lease and its tokens, and grants to
-- waiting readers.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), closed
--   Answers 1 if the owner is a shared holder now, 0 if it does not hold; and 2 more as release.lua does.
local owner, floor, closed = ARGV[1], ARGV[2], ARGV[3]

-- use lock.lua

expireShared()
if not holds(owner) then return sharedUntil(owner) and 1 or 0 end
local ms = call('PTTL', valueKey)
if ms <= 0 then ms = FIRST_LEASE end -- somebody removed the ttl
local detail = string.gsub(string.sub(value, #owner + 2), '\nq?$', '')
value = false
expireShared() -- drop what is left of earlier shared holders
call('HSET', infoKey, 'h' .. owner, '1 ' .. detail)
call('ZADD', holdersKey, now + ms, owner)
setShared(1)
handOver(nil, true)
updateMarks()
return unfinished and hasWaiters() and 3 or 1
