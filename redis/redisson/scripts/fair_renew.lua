-- Renews the lease of a fair lock, as lock_renew.lua does, and keeps the places of waiters.
-- ARGV: ..., owner, lease in milliseconds.
-- Returns 1 if the owner holds it, else 0.
local owner, lease = ARGV[4], tonumber(ARGV[5])
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
if redis.call('pttl', lock) < lease then
  redis.call('pexpire', lock, lease)
end
keepPlaces(redis.call('pttl', lock))
return 1
