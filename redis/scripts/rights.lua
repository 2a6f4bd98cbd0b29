-- rights.lua: tells which commands of the scripts the user may not run. A script that is refused a command halfway
-- leaves its work half done, so this runs before any other script.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent}.
-- use permitted.lua
local missing = missingCommands({
  {'TIME'}, {'EXISTS', QUEUE}, {'GET', VALUE}, {'MGET', VALUE}, {'SET', VALUE, ''}, {'DEL', VALUE},
  {'PTTL', VALUE}, {'PEXPIRE', VALUE, '1'}, {'PEXPIREAT', HOLDERS, '1'}, {'PEXPIRETIME', VALUE},
  {'HGET', INFO, ''}, {'HSET', INFO, '', ''}, {'HDEL', INFO, ''}, {'HMGET', INFO, ''}, {'HEXISTS', INFO, ''},
  {'HINCRBY', INFO, '', '1'},
  {'ZADD', QUEUE, '1', ''}, {'ZREM', QUEUE, ''}, {'ZCARD', QUEUE}, {'ZRANGE', QUEUE, '0', '0'},
  {'ZREVRANGE', QUEUE, '0', '0'},
  {'ZRANGEBYSCORE', HOLDERS, '0', '0'}, {'ZRANK', QUEUE, ''}, {'ZSCORE', QUEUE, ''},
})
return {missing, mayPublish() and 1 or 0}
