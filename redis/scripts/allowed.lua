-- allowed.lua: is put in where another script says so. It tells what the user may not do, and does nothing of it.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
local VALUE, TOKEN, QUEUE, HOLDERS, INFO = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- may tells whether a command is allowed. One that the server does not know is not.
local function may(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return known and allowed
end

-- lacking tells which of some commands are not allowed.
local function lacking(commands)
  local missing = {}
  for _, command in ipairs(commands) do
    if not may(unpack(command)) then table.insert(missing, command[1]) end
  end
  return missing
end

-- messages tells whether messages to waiters may be sent, and those of latches.
local function messages()
  local beside = string.gsub(TOKEN, 'token$', '')
  local wake = (ARGV[1] == 'PUBLISH' and PREFIX or beside) .. 'wake:'
  return may(ARGV[1], wake, '') and may(ARGV[1], beside .. 'latch', '')
end
