-- may.lua: tells which of some commands the user may send. It does nothing of what they say, and touches no key.
--   ARGV  for each command: how many words it has, and these. Keys are among them: as KEYS they would have to be allowed.
--   Answers for each command 0 if it is allowed, 1 if it is not, 2 if the server does not know it; and nothing if the server cannot tell.
local answer = {}
if not redis.acl_check_cmd then return answer end
local at = 1
while at <= #ARGV do
  local words = {}
  for i = 1, tonumber(ARGV[at]) do words[i] = ARGV[at + i] end
  at = at + 1 + #words
  local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
  table.insert(answer, not known and 2 or allowed and 0 or 1)
end
return answer
