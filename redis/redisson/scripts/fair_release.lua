-- Ends the hold of an owner, or leaves the lock taken for a while and then free. An owner that waits leaves the queue.
-- ARGV: ..., owner, for how many milliseconds to leave the lock taken, by which owner.
-- Returns 1 if the owner held it, else 0.
local owner, keep, keeper = ARGV[4], tonumber(ARGV[5]), ARGV[6]
local held = redis.call('hexists', lock, owner) == 1
local ends = held
if held and keep > 0 then
  redis.call('hdel', lock, owner)
  redis.call('hset', lock, keeper, 1)
  redis.call('pexpire', lock, keep)
elseif held then
  redis.call('del', lock)
else
  ends = redis.call('lindex', queue, 0) == owner and redis.call('exists', lock) == 0
  leave(owner)
end
local head = ends and livingHead()
if head then
  wake(head)
end
return held and 1 or 0
