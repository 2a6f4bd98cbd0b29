-- Ends the hold of an owner, or leaves the lock taken for a while and then free. An owner that waits leaves the queue.
-- ARGV: ..., owner, for how many milliseconds to leave the lock taken, by which owner.
-- Returns 1 if the owner held it, else 0.
local owner, keep, keeper = ARGV[4], tonumber(ARGV[5]), ARGV[6]
if redis.call('hexists', lock, owner) == 0 then
  local wasNext = redis.call('lindex', queue, 0) == owner
  leave(owner)
  if wasNext then
    livingHead()
  end
  return 0
end
if keep > 0 then
  redis.call('hdel', lock, owner)
  redis.call('hset', lock, keeper, 1)
  redis.call('pexpire', lock, keep)
else
  redis.call('del', lock)
end
local head = livingHead()
if head and keep > 0 then
  wake(head) -- it does not know yet when the lock will be free
end
return 1
