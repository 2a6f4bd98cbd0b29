-- Releases a permit, or makes its lease end at another time, whoever has acquired it.
-- KEYS: see permits.lua; the channel.
-- ARGV: clock; PUBLISH or SPUBLISH, the id, lease in milliseconds, or 0 to release it.
-- Returns 1 if it was held, else 0.
local command, id, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local refused = cannotPublish(command, KEYS[4])
if refused then return refused end
local score = tonumber(redis.call('zscore', held, id))
if not score then return 0 end
if lease == 0 or score <= early then
  redis.call('zrem', held, id)
  give(1, command, KEYS[4])
  return score > early and 1 or 0
end
local ends = late + lease
-- A holder in Go relies on its lease for as long as it was told.
if redis.call('hexists', holders, string.sub(id, 1, 12)) == 1 then ends = math.max(ends, score) end
redis.call('zadd', held, text(ends), id)
return 1
