-- leak_latch.lua: finds a latch that does not expire, and removes it on demand.
--   KEYS  latch, token of one name
--   ARGV  the mark of the latch to remove, or "" to remove none; PUBLISH or SPUBLISH
--   Answers the mark of such a latch, which is removed now if that was demanded; "" if there is none, or another one.
local latch = redis.call('HMGET', KEYS[1], 'generation', 'left')
if not latch[1] or not latch[2] or redis.call('PTTL', KEYS[1]) ~= -1 then return '' end
local mark = redis.sha1hex(latch[1])
if ARGV[1] == '' then return mark end
if ARGV[1] ~= mark then return '' end
redis.call('DEL', KEYS[1])
redis.pcall(ARGV[2], KEYS[1], '')
return mark
