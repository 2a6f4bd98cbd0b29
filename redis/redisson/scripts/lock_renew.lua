-- Renews the lease of a lock. It never shortens a lease, and never makes one again that has ended.
-- KEYS: the lock.
-- ARGV: owner, lease in milliseconds.
-- Returns 1 if the owner holds it, else 0.
local lock, owner, lease = KEYS[1], ARGV[1], tonumber(ARGV[2])
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
if redis.call('pttl', lock) < lease then
  redis.call('pexpire', lock, lease)
end
return 1
