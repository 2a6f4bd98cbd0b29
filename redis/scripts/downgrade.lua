-- downgrade.lua: makes an exclusive holder a shared one, with the lease and the tokens it has, and lets waiting readers in.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, floor (the client's clock, us), closed
--   Answers 1 if the owner is a shared holder now, 0 if it does not hold.
local OWNER, FLOOR, CLOSED = ARGV[1], ARGV[2], ARGV[3]

-- use entry.lua

settle()
if not owns(OWNER) then return shares(OWNER) and 1 or 0 end
local ms = call('PTTL', VALUE)
if ms <= 0 then ms = FIRST end -- somebody took the ttl away
local detail = string.gsub(string.sub(value, #OWNER + 2), '\nq?$', '')
value = false
settle() -- nothing of earlier shared holders may be left
call('HSET', INFO, 'h' .. OWNER, '1 ' .. detail)
call('ZADD', HOLDERS, now + ms, OWNER)
share(1)
serve(nil, true)
mark()
return 1
