-- Sets how many permits there are, or adds some. As in Redisson, the message says what was asked for.
-- KEYS: see permits.lua; the channel; a hash with the number of permits that takes have set; a hash that says that the
-- name is a latch.
-- ARGV: clock; PUBLISH or SPUBLISH, "try" to set it unless it is set, "set" or "add", how many permits.
-- Returns 1, or 0 if "try" found a number.
local command, what, wanted = ARGV[2], ARGV[3], tonumber(ARGV[4])
local count, damaged = readCount()
if damaged then return damaged end
if redis.call('exists', KEYS[6]) == 1 then return redis.error_reply('WRONGTYPE the name is a latch') end
local used = redis.call('zcard', held)
if what == 'try' and count then return 0 end
local refused = cannotPublish(command, KEYS[4])
if refused then return refused end
redis.call('hdel', KEYS[5], 'size') -- from now on, takes leave the number as it is
if what == 'set' and count then
  redis.call('incrby', available, text(wanted - tonumber(count) - used))
else
  redis.call('set', available, text(wanted + (tonumber(count) or 0)))
end
redis.call(command, KEYS[4], ARGV[4])
return 1
