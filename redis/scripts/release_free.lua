-- release_free.lua: releases a lock that is held exclusively and that nobody waits for.
--   KEYS  value of one name
--   ARGV  owner and a line end
--   Answers 1: released. 0: ask with release.lua.
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, #ARGV[1]) ~= ARGV[1] or string.sub(value, -1) == 'q' then return 0 end
return redis.call('DEL', KEYS[1])
