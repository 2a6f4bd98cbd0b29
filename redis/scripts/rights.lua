-- rights.lua: tells what the user may not do of what the scripts do. A script that is refused something in its midst
-- leaves half of its work behind, so this is asked before any other runs.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent}.
-- use allowed.lua
local missing = lacking({
  {'TIME'}, {'EXISTS', QUEUE}, {'GET', VALUE}, {'MGET', VALUE}, {'SET', VALUE, ''}, {'DEL', VALUE},
  {'PTTL', VALUE}, {'PEXPIRE', VALUE, '1'}, {'PEXPIREAT', HOLDERS, '1'}, {'PEXPIRETIME', VALUE},
  {'HGET', INFO, ''}, {'HSET', INFO, '', ''}, {'HDEL', INFO, ''}, {'HMGET', INFO, ''}, {'HEXISTS', INFO, ''}, {'HINCRBY', INFO, '', '1'},
  {'ZADD', QUEUE, '1', ''}, {'ZREM', QUEUE, ''}, {'ZCARD', QUEUE}, {'ZRANGE', QUEUE, '0', '0'}, {'ZREVRANGE', QUEUE, '0', '0'},
  {'ZRANGEBYSCORE', HOLDERS, '0', '0'}, {'ZRANK', QUEUE, ''}, {'ZSCORE', QUEUE, ''},
})
return {missing, messages() and 1 or 0}
