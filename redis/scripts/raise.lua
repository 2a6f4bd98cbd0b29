-- raise.lua: raises the token of an exclusive holder, and the last token given.
--   KEYS  value, token of one name
--   ARGV  owner, token, token + tokens - 1, tokens
--   Answers 1, or 0 if the owner does not hold, or holds with a larger token: others may have had this one before.
-- use token_ttl.lua
local call, owner = redis.call, ARGV[1]
local value = call('GET', KEYS[1])
if not value or string.sub(value, 1, #owner + 1) ~= owner .. '\n' then return 0 end
local token, rest = string.match(value, '^(%d+) %d+( .*)$', #owner + 2)
if tonumber(token) > tonumber(ARGV[2]) then return 0 end
call('SET', KEYS[1], owner .. '\n' .. ARGV[2] .. ' ' .. ARGV[4] .. rest, 'KEEPTTL')
local last, marked = string.match(call('GET', KEYS[2]) or '', '^(%d+)(q?)')
if tonumber(last or 0) < tonumber(ARGV[3]) then
  call('SET', KEYS[2], ARGV[3] .. (marked or ''), 'PX', tokenTTL(tonumber(ARGV[3])))
end
return 1
