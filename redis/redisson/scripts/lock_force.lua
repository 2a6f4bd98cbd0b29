-- Takes a lock away from its holder.
-- KEYS: the lock, its channel.
-- ARGV: PUBLISH or SPUBLISH, the holder's last token, or 0 for a holder without one, such as a program in Java; its
-- owner or ''.
-- Returns 1 if that holder held it, else 0.
local lock, channel = KEYS[1], KEYS[2]
local publish, token = ARGV[1], ARGV[2]
if not isHeldWith(lock, token, ARGV[3]) then
  return 0
end
local refused = cannotPublish(publish, channel)
if refused then return refused end
redis.call('del', lock)
redis.call(publish, channel, '0')
return 1
