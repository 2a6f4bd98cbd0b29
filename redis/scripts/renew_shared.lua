-- renew_shared.lua: extends the lease of one shared holder. It never shortens one, and never brings one back.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, ttl (ms)
--   Answers 1 if it is renewed, 0 if the owner does not hold.
local FLOOR, CLOSED = '0', '1'

-- use entry.lua

local owner, ttl = ARGV[1], tonumber(ARGV[2])
settle()
if owns(owner) then
  keep(VALUE, ttl)
  return 1
end
local mine = shares(owner)
if not mine then return 0 end
if now + ttl > mine then extend(owner, now + ttl) end
return 1
