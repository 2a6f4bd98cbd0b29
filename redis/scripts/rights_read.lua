-- rights_read.lua: tells which commands of the scripts that only read the user may not run. It changes nothing.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent, 1 if scripts that send them may be run}.
-- use permitted.lua
local missing = missingCommands({
  {'TIME'}, {'EXISTS', queueKey}, {'GET', valueKey}, {'PTTL', valueKey}, {'PEXPIRETIME', valueKey},
  {'HGET', infoKey, ''}, {'HMGET', infoKey, ''}, {'HEXISTS', infoKey, ''},
  {'ZCARD', queueKey}, {'ZREVRANGE', queueKey, '0', '0'}, {'ZRANGEBYSCORE', holdersKey, '0', '0'},
})
local publishes = mayPublish()
return {missing, publishes and 1 or 0, publishes and isAllowed('EVALSHA', '', '1', queueKey) and 1 or 0}
