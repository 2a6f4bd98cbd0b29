-- rights_look.lua: tells what the user may not do of what the scripts do that only look. It changes nothing.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent, 1 if scripts may be run that send them}.
local VALUE, TOKEN, QUEUE, HOLDERS, INFO = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- may tells whether a command is allowed. One that the server does not know is not.
local function may(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return known and allowed
end

local missing = {}
for _, command in ipairs({
  {'TIME'}, {'EXISTS', QUEUE}, {'GET', VALUE}, {'PTTL', VALUE}, {'PEXPIRETIME', VALUE},
  {'HGET', INFO, ''}, {'HMGET', INFO, ''}, {'HEXISTS', INFO, ''},
  {'ZCARD', QUEUE}, {'ZREVRANGE', QUEUE, '0', '0'}, {'ZRANGEBYSCORE', HOLDERS, '0', '0'},
}) do
  if not may(unpack(command)) then table.insert(missing, command[1]) end
end
local beside = string.gsub(TOKEN, 'token$', '')
local wake = (ARGV[1] == 'PUBLISH' and PREFIX or beside) .. 'wake:'
local messages = may(ARGV[1], wake, '') and may(ARGV[1], beside .. 'latch', '')
return {missing, messages and 1 or 0, messages and may('EVALSHA', '', '1', QUEUE) and 1 or 0}
