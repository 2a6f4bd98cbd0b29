-- removal_write.lua: stores the record of a removal, replaces the one with the same id, and drops the oldest records if
-- there are too many.
--   KEYS  ids by the time of the removal (sorted set), records by their ids (hash)
--   ARGV  id, time (us), record, how many are kept
--   Answers 1.
local call = redis.call
-- This needs no memory. After its first change, a script may go on even if the server has none left.
call('ZREM', KEYS[1], ARGV[1])
call('HSET', KEYS[2], ARGV[1], ARGV[3])
call('ZADD', KEYS[1], ARGV[2], ARGV[1])
for _ = 1, call('ZCARD', KEYS[1]) - ARGV[4] do
  local oldest = call('ZRANGE', KEYS[1], 0, 0)[1]
  call('HDEL', KEYS[2], oldest)
  call('ZREM', KEYS[1], oldest)
end
return 1
