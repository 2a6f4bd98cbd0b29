-- Releases a lock, or leaves it taken for a while and then free.
-- KEYS: the lock, its channel.
-- ARGV: owner, PUBLISH or SPUBLISH, for how many milliseconds to leave it taken, by which owner.
-- Returns 1 if the owner held it, else 0.
local lock, channel = KEYS[1], KEYS[2]
local owner, publish, keep, keeper = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
if keep > 0 then
  redis.call('hdel', lock, owner)
  redis.call('hincrby', lock, keeper, 1)
  redis.call('pexpire', lock, keep)
else
  redis.call('del', lock)
end
redis.call(publish, channel, '0')
return 1
