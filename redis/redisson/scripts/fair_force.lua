-- Takes a fair lock away from its holder.
-- ARGV: ..., the holder's last token, or 0 for a holder without one, such as a program in Java.
-- Returns 1 if that holder held it, else 0.
if redis.call('exists', lock) == 0 or (redis.call('hget', lock, 'leasehold:token') or '0') ~= ARGV[4] then
  return 0
end
redis.call('del', lock)
local head = livingHead()
if head then
  wake(head)
end
return 1
