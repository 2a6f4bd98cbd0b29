-- rights_look.lua: tells what the user may not do of what the scripts do that only look. It changes nothing.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent, 1 if scripts may be run that send them}.
-- use allowed.lua
local missing = lacking({
  {'TIME'}, {'EXISTS', QUEUE}, {'GET', VALUE}, {'PTTL', VALUE}, {'PEXPIRETIME', VALUE},
  {'HGET', INFO, ''}, {'HMGET', INFO, ''}, {'HEXISTS', INFO, ''},
  {'ZCARD', QUEUE}, {'ZREVRANGE', QUEUE, '0', '0'}, {'ZRANGEBYSCORE', HOLDERS, '0', '0'},
})
local told = messages()
return {missing, told and 1 or 0, told and may('EVALSHA', '', '1', QUEUE) and 1 or 0}
