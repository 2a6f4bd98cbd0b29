-- release_free.lua: releases a lock that is held exclusively and that nobody waits for.
--   KEYS  value of one name
--   ARGV  owner
--   Answers 1 if it is released, 0 if only release.lua can decide.
-- use exclusive.lua
return exclusive(redis.call('GET', KEYS[1]), ARGV[1]) and redis.call('DEL', KEYS[1]) or 0
