-- rights_of.lua: tells which of some commands the user may send. It runs none of them, and touches no key.
--   ARGV  for each command: the number of its words, and the words. Keys are among these: the user may lack the right
--         to them, so they cannot be KEYS.
--   Answers for each command 0 if it is allowed, 1 if it is not, 2 if the server does not know it; or nothing at all
--   if the server cannot tell.
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
