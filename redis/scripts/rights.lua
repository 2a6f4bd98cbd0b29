-- rights.lua: tells what the user may not do of what the scripts do. A script that is refused something in its midst
-- leaves half of its work behind, so this is asked before any other runs.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
--   Answers {the missing commands, 1 if messages to waiters may be sent}.
local VALUE, TOKEN, QUEUE, HOLDERS, INFO = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- may tells whether a command is allowed. One that the server does not know is not.
local function may(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return known and allowed
end

local missing = {}
for _, command in ipairs({
  {'TIME'}, {'EXISTS', QUEUE}, {'GET', VALUE}, {'MGET', VALUE}, {'SET', VALUE, ''}, {'DEL', VALUE},
  {'PTTL', VALUE}, {'PEXPIRE', VALUE, '1'}, {'PEXPIREAT', HOLDERS, '1'}, {'PEXPIRETIME', VALUE},
  {'HGET', INFO, ''}, {'HSET', INFO, '', ''}, {'HDEL', INFO, ''}, {'HMGET', INFO, ''}, {'HEXISTS', INFO, ''}, {'HINCRBY', INFO, '', '1'},
  {'ZADD', QUEUE, '1', ''}, {'ZREM', QUEUE, ''}, {'ZCARD', QUEUE}, {'ZRANGE', QUEUE, '0', '0'}, {'ZREVRANGE', QUEUE, '0', '0'},
  {'ZRANGEBYSCORE', HOLDERS, '0', '0'}, {'ZRANK', QUEUE, ''}, {'ZSCORE', QUEUE, ''},
}) do
  if not may(unpack(command)) then table.insert(missing, command[1]) end
end
local beside = string.gsub(TOKEN, 'token$', '')
local wake = (ARGV[1] == 'PUBLISH' and PREFIX or beside) .. 'wake:'
return {missing, may(ARGV[1], wake, '') and may(ARGV[1], beside .. 'latch', '') and 1 or 0}
