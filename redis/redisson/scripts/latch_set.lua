-- Sets a latch, unless it is set and above zero.
-- KEYS: see latch.lua; the channel.
-- ARGV: id of the attempt, PUBLISH or SPUBLISH, count, milliseconds to live, or a day if it shall have no end.
-- Returns 1 if this attempt has set it, else 0.
local id, command, lifetime = ARGV[1], ARGV[2], tonumber(ARGV[4])
local generation, count, left = read()
if not generation and count then return count end
if generation and redis.call('hget', ours, 'by') == id then
  live(generation, count, left, lifetime)
  return 1
elseif generation and count > 0 then
  return 0
end
local refused = cannotPublish(command, KEYS[4])
if refused then return refused end
local before = redis.call('hmget', ours, 'generation', 'before')
local now = math.max(time[1] * 1000000 + time[2], (tonumber(before[1]) or 0) + 1, (tonumber(before[2]) or 0) + 1)
if not (now <= 9007199254740991) then return redis.error_reply('DAMAGED the generations of the latch are used up') end
redis.call('del', ours)
redis.call('hset', ours, 'generation', text(now), 'by', id)
if lifetime < day then redis.call('hset', ours, 'ends', 1) end
redis.call('set', latch, ARGV[3])
live(text(now), tonumber(ARGV[3]), lifetime < day and lifetime or -1, lifetime)
redis.call(command, KEYS[4], '1')
return 1
