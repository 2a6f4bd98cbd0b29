-- latch.lua: begins each script of latches (RCountDownLatch).
-- KEYS: the count, which is gone at zero; a hash with what a program in Java does not store; a hash that says that the
-- name is a semaphore; and more.
local latch, ours = KEYS[1], KEYS[2]
local time = redis.call('time')

local function text(number) return string.format('%.0f', number) end

-- read returns generation, count and milliseconds to live. If the latch is not set, it returns nothing; if the key is
-- not a latch, nothing and an error. A latch that a program in Java has set has generation 0, and lives until it is at
-- zero. One of ours has a time to live, which ends in the same millisecond as that of the hash. So if the hash is still
-- there, the count is gone because it came down to zero.
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
    if left < 0 then generation = '0' end
    return generation or '0', math.max(tonumber(count), 0), left
  elseif generation then
    return generation, 0, redis.call('pttl', ours)
  end
end

-- live lets a latch live for a time from now, and what is known of it.
local function live(generation, millis)
  local ends = text(time[1] * 1000 + math.floor(time[2] / 1000) + millis)
  if generation ~= '0' then redis.call('pexpireat', latch, ends) end
  redis.call('pexpireat', ours, ends)
end
