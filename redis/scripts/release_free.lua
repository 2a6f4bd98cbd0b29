-- release_free.lua: releases a lock that is held exclusively and that nobody waits for.
--   KEYS  value of one name
--   ARGV  owner
--   Answers 1: released. 0: ask with release.lua.
local call = redis.call
local value, owner = call('GET', KEYS[1]), ARGV[1]
if not value or string.sub(value, 1, #owner) ~= owner or string.byte(value, #owner + 1) ~= 10 or string.byte(value, -1) == 113 then return 0 end -- "\n", "q"
return call('DEL', KEYS[1])
