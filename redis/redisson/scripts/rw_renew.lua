-- Renews the lease of a holder. It never shortens a lease, and never makes one again that has ended.
-- ARGV: ..., owner, lease in milliseconds.
-- Returns 1 if the owner holds it, else 0.
local owner, lease = ARGV[2], tonumber(ARGV[3])
if redis.call('hexists', lock, owner .. ':write') == 0 then
  local count = redis.call('hget', lock, owner)
  if not count or readerLeft(owner, count) <= 0 then
    return 0
  end
  raise(readerKey(owner, 1), lease)
end
raise(lock, lease)
if redis.call('exists', notes) == 1 then
  raise(notes, lease)
end
return 1
