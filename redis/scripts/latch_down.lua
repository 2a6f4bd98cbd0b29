-- latch_down.lua: counts a latch down by one, not below zero, once for each id.
--   KEYS  latch, token of one name
--   ARGV  id of this attempt, ttl (ms), PUBLISH or SPUBLISH
--   Answers {generation, count, ttl (ms)}, or 0 if the latch is not set.
-- use latch.lua
local generation, left = readLatch(KEYS[1])
if not generation then return left or 0 end
if redis.call('HEXISTS', KEYS[1], 'id ' .. ARGV[1]) == 0 then
  local sooner = tonumber(ARGV[2]) < redis.call('PTTL', KEYS[1])
  if left > 0 then
    redis.call('HSET', KEYS[1], 'id ' .. ARGV[1], 1)
    left = redis.call('HINCRBY', KEYS[1], 'left', -1)
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  if left == 0 or sooner then redis.pcall(ARGV[3], KEYS[1], '') end
end
return {generation, left, redis.call('PTTL', KEYS[1])}
