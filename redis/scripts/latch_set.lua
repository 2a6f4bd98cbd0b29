-- latch_set.lua: sets a latch, unless it is set and above zero.
--   KEYS  latch, token of one name
--   ARGV  id of this attempt, count, ttl (ms), floor (the client's clock, us), PUBLISH or SPUBLISH
--   Answers 1 if this attempt has set it, else 0.
-- use latch.lua
local before, left, by = readLatch(KEYS[1])
if left and not before then return left end
if by == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.pcall(ARGV[5], KEYS[1], '')
  return 1
end
if before and left > 0 then return 0 end
-- use token_ttl.lua
local last, marked = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+)(q?)') -- see lock.lua
local generation = math.max(tonumber(last or 0) + 1, tonumber(ARGV[4]))
if generation > MAX_TOKEN then error('EXHAUSTED') end
generation = string.format('%.0f', generation)
redis.call('SET', KEYS[2], generation .. (marked or ''), 'PX', tokenTTL(tonumber(generation)))
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'by', ARGV[1], 'left', ARGV[2], 'generation', generation)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.pcall(ARGV[5], KEYS[1], '')
return 1
