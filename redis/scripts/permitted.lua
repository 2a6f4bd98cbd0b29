-- permitted.lua: included by other scripts. It tells what the user may not do, without doing any of it.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  PUBLISH or SPUBLISH
local valueKey, tokenKey, queueKey, holdersKey, infoKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- isAllowed tells whether a command is allowed. A command that the server does not know is not.
local function isAllowed(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return known and allowed
end

-- missingCommands returns which of some commands are not allowed.
local function missingCommands(commands)
  local missing = {}
  for _, command in ipairs(commands) do
    if not isAllowed(unpack(command)) then table.insert(missing, command[1]) end
  end
  return missing
end

-- mayPublish tells whether the user may send the messages of locks and of latches.
local function mayPublish()
  local partPrefix = string.gsub(tokenKey, 'token$', '')
  local wake = (ARGV[1] == 'PUBLISH' and PREFIX or partPrefix) .. 'wake:'
  return isAllowed(ARGV[1], wake, '') and isAllowed(ARGV[1], partPrefix .. 'latch', '')
end
