-- Takes a fair lock away from its holder.
-- ARGV: ..., the holder's last token, or 0 for a holder without one, such as a program in Java.
-- Returns 1 if that holder held it, else 0.
if (redis.call('hget', lock, 'leasehold:token') or '0') ~= ARGV[4] or redis.call('hlen', lock) > 3 then
  return 0
end
local held = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  held = held or isOwner(field)
end
if not held then -- it is no lock
  return 0
end
redis.call('del', lock)
local head = livingHead()
if head then
  wake(head)
end
return 1
