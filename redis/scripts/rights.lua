-- rights.lua: tells which commands of the scripts the user may not run. A script that is refused a command halfway
-- leaves its work half done, so this runs before any other script.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent}.
-- use permitted.lua
local missing = missingCommands({
  {'TIME'}, {'EXISTS', queueKey}, {'GET', valueKey}, {'MGET', valueKey}, {'SET', valueKey, ''}, {'DEL', valueKey},
  {'PTTL', valueKey}, {'PEXPIRE', valueKey, '1'}, {'PEXPIREAT', holdersKey, '1'}, {'PEXPIRETIME', valueKey},
  {'HGET', infoKey, ''}, {'HSET', infoKey, '', ''}, {'HDEL', infoKey, ''}, {'HMGET', infoKey, ''},
  {'HEXISTS', infoKey, ''}, {'HINCRBY', infoKey, '', '1'},
  {'ZADD', queueKey, '1', ''}, {'ZREM', queueKey, ''}, {'ZCARD', queueKey}, {'ZRANGE', queueKey, '0', '0'},
  {'ZREVRANGE', queueKey, '0', '0'},
  {'ZRANGEBYSCORE', holdersKey, '0', '0'}, {'ZRANK', queueKey, ''}, {'ZSCORE', queueKey, ''},
})
return {missing, mayPublish() and 1 or 0}
