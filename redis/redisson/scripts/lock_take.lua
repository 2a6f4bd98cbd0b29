-- Takes a lock (RLock, RFencedLock) for an owner, if nobody holds it.
-- KEYS: the lock, and the counter of its tokens, or the lock alone.
-- ARGV: owner, lease in milliseconds, how many tokens, public text about the holder.
-- Returns {1, last token} or {0, what is left of the holder's lease, or -1 if it never ends}.
local lock, counter = KEYS[1], KEYS[2]
local owner, lease, tokens = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('exists', lock) == 0 then
  local last = 0
  if counter then
    last = redis.call('incrby', counter, tokens)
    local damaged = tokenError(last, tokens)
    if damaged then return damaged end
    -- Redisson looks for the field of its own thread only, so these are in nobody's way.
    redis.call('hset', lock, 'leasehold:token', last, 'leasehold:holder', ARGV[4])
  end
  redis.call('hincrby', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return {1, last}
end
if redis.call('hexists', lock, owner) == 1 then
  -- The same request once more: it must not raise the hold count, as that would take another release.
  if redis.call('pttl', lock) < lease then
    redis.call('pexpire', lock, lease)
  end
  return {1, tonumber(redis.call('hget', lock, 'leasehold:token') or 0)}
end
if isOfOthers(lock) then
  return refuseHash()
end
return {0, redis.call('pttl', lock)}
