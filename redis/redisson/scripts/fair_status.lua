-- Reads a fair lock. It changes nothing.
-- Returns {what is left of the lease, fields of the hash with their values, the waiters: owner, and public text or
-- nothing}; or nothing if the lock is no such lock.
local kind = redis.call('type', lock).ok
if kind ~= 'none' and (kind ~= 'hash' or redis.call('hlen', lock) > 3) then
  return false
end
local alive = {}
for _, owner in ipairs(redis.call('lrange', queue, 0, -1)) do
  local aliveUntil, text = waiter(owner)
  if (aliveUntil or deadline(owner) or now + 1) > now then
    alive[#alive + 1] = owner
    alive[#alive + 1] = text or false
  end
end
return {redis.call('pttl', lock), redis.call('hgetall', lock), alive}
