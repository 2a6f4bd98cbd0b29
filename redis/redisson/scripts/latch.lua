-- latch.lua: begins each script of latches (RCountDownLatch).
-- KEYS: the count, which is gone at zero; a hash with what a program in Java does not store; a hash that says that the
-- name is a semaphore; and more.
local latch, ours = KEYS[1], KEYS[2]
local time = redis.call('time')
local day = 86400000 -- the longest time to live stands for none

local function text(number) return string.format('%.0f', number) end

-- read returns generation, count and milliseconds to live, or -1 if it has no end. If the latch is not set, it returns
-- nothing; if the key is not a latch, nothing and an error.
--
-- The count lives until it is at zero, as it does in Redisson, unless it was set with a time to live. In that case the
-- hash says so and ends in the same millisecond. The hash always has an end. A count has the generation of the hash, or
-- 0 if there is none: a program in Java has set it, or no program in Go has used it for a day. If the hash is there and
-- the count is not, the count is gone because it came down to zero.
local function read()
  local count = redis.call('get', latch)
  local generation = redis.call('hget', ours, 'generation')
  if redis.call('exists', KEYS[3]) == 1 then
    return nil, redis.error_reply('WRONGTYPE the name is a semaphore')
  elseif count and (not string.match(count, '^-?%d+$') or #count > 15) or
    generation and (not string.match(generation, '^%d+$') or #generation > 16) then
    return nil, redis.error_reply('DAMAGED the count of the latch, or its generation, is none')
  elseif count then
    local left = redis.call('pttl', latch)
    if left < 0 and redis.call('hexists', ours, 'ends') == 1 then generation = '0' end -- Java has set it anew
    return generation or '0', math.max(tonumber(count), 0), left
  elseif generation then
    return generation, 0, redis.call('pttl', ours)
  end
end

-- live extends the life of a latch, and of what is known of it, to a time from now, if the count has an end that
-- leasehold has set. It returns what is left of that. What is known of a count without an end lasts for a day. What is
-- known of a count at zero never ends sooner than before, so that nothing that is repeated counts twice.
local function live(generation, count, left, millis)
  local hasEnd = generation ~= '0' and left >= 0
  if not hasEnd then
    millis = day
  elseif count == 0 then
    millis = math.max(millis, left)
  end
  local ends = text(time[1] * 1000 + math.floor(time[2] / 1000) + millis)
  if hasEnd and count > 0 then redis.call('pexpireat', latch, ends) end
  redis.call('pexpireat', ours, ends)
  return millis
end
