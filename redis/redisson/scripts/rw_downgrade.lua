-- Makes a reader of a writer.
-- KEYS: ..., the channel.
-- ARGV: ..., owner, PUBLISH or SPUBLISH.
-- Returns 1 if the owner reads now, else 0.
local owner = ARGV[2]
if redis.call('hexists', lock, owner .. ':write') == 1 then
  local refused = cannotPublish(ARGV[3], KEYS[3])
  if refused then return refused end
  -- First what may be refused: a right to write may be missing there.
  redis.call('set', readerKey(owner, 1), 1, 'px', math.max(redis.call('pttl', lock), 1))
  redis.call('hdel', lock, owner .. ':write')
  redis.call('hset', lock, 'mode', 'read', owner, 1)
  -- Redisson sends no message here, so that its readers wait until the lease would have ended.
  redis.call(ARGV[3], KEYS[3], '1')
  return 1
end
local count = redis.call('hget', lock, owner)
return count and readerLeft(owner, count) > 0 and 1 or 0
