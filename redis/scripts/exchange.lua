-- exchange.lua: releases a lock for which nobody waits, and takes it for another owner of the same process.
--   KEYS  value, token of one name
--   ARGV  the owner that is released; as for take_free.lua: the value, ttl (ms), floor
--   Answers the token, or 1 if that is the floor. 0 if nothing was done: that owner does not hold, others wait, or
--   there are no more tokens.
local call, valueKey, tokenKey = redis.call, KEYS[1], KEYS[2]
local text, ttl, floorText = ARGV[2], ARGV[3], ARGV[4]
-- use exclusive.lua
-- use token_ttl.lua
if not exclusive(call('GET', valueKey), ARGV[1]) then return 0 end
local before = redis.pcall('SET', tokenKey, floorText, 'KEEPTTL', 'GET')
if type(before) == 'table' then return 0 end -- the key has another type
local last, floor, answer = tonumber(before or 0), floorText + 0, 1
if not last or last >= MAX_TOKEN then -- with a "q" it is no number: others wait
  call('SET', tokenKey, before, 'KEEPTTL')
  return 0
elseif last >= floor then
  answer = last + 1
  local owner, rest = string.match(text, '^([^\n]*\n)%d+(.*)$')
  text = owner .. string.format('%.0f', answer) .. rest
  call('SET', tokenKey, string.format('%.0f', answer), 'PX', tokenTTL(answer))
elseif last == 0 or floor - floor % EXTENSION_PERIOD > last then -- see take_steps.lua
  call('PEXPIRE', tokenKey, tokenTTL(floor))
end
call('SET', valueKey, text, 'PX', ttl)
return answer
