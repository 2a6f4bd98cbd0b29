-- Reads a lock.
-- KEYS: the lock.
-- Returns {what is left of the lease, fields of the hash with their values}, or nothing if it is free, or is no lock.
local lock = KEYS[1]
if redis.call('type', lock).ok ~= 'hash' or redis.call('hlen', lock) > 3 then
  return false
end
return {redis.call('pttl', lock), redis.call('hgetall', lock)}
