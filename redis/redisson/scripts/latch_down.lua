-- Counts a latch down by one, not below zero, once for each id.
-- KEYS: see latch.lua; the channel.
-- ARGV: id of the attempt, PUBLISH or SPUBLISH, milliseconds to live of a count that has an end.
-- Returns {generation, count, milliseconds to live}, or 0 if the latch is not set.
local id, command, lifetime = 'id ' .. ARGV[1], ARGV[2], tonumber(ARGV[3])
local generation, count, left = read()
if not generation then return count or 0 end
local refused = cannotPublish(command, KEYS[4])
if refused then return refused end
local known = redis.call('hget', ours, 'generation')
if generation == '0' and known ~= '0' then -- a program in Java has set it
  redis.call('del', ours)
  redis.call('hset', ours, 'generation', '0', 'before', known or '0')
end
if redis.call('hexists', ours, id) == 0 then
  local mayEnd = generation ~= '0' and left >= 0
  if count > 0 then
    redis.call('hset', ours, id, 1)
    count = redis.call('decr', latch)
    if count == 0 then
      redis.call('del', latch)
      redis.call(command, KEYS[4], '0')
    elseif mayEnd and lifetime < left then
      redis.call(command, KEYS[4], '1') -- waiters shall learn that it lives shorter
    end
  end
  local lives = live(generation, count, left, lifetime)
  if mayEnd or count == 0 then left = lives end
end
return {generation, count, left}
