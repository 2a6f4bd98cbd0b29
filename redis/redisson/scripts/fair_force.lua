-- Takes a fair lock away from its holder.
-- ARGV: ..., the holder's last token, or 0 for a holder without one, such as a program in Java; its owner or ''.
-- Returns 1 if that holder held it, else 0.
if not isHeldWith(lock, ARGV[4], ARGV[5]) then
  return 0
end
local refused = cannotPublish(publish, channel)
if refused then return refused end
redis.call('del', lock)
livingHead()
return 1
