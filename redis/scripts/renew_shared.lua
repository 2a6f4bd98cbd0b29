-- renew_shared.lua: extends the lease of one shared holder. It never shortens a lease, and never revives one.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, ttl (ms)
--   Answers 1 if it is renewed, 0 if the owner does not hold.
local floor, closed = '0', '1'

-- use lock.lua

local owner, ttl = ARGV[1], tonumber(ARGV[2])
expireShared()
if holds(owner) then
  extendKey(valueKey, ttl)
  return 1
end
local endsAt = sharedUntil(owner)
if not endsAt then return 0 end
if now + ttl > endsAt then extendShared(owner, now + ttl) end
return 1
