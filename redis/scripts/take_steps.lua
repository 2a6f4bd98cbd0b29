-- take_steps.lua: included by other scripts. It takes a lock exclusively if nobody holds it or waits for it. This is
-- the common case, in as few steps as possible. It returns the answer of the script, and needs these variables:
--   valueKey, tokenKey  keys of one name: value and token
--   text       what to store in the value (see lock.lua), with floorText as its token
--   ttl        in ms
--   floorText  the smallest token allowed: the client's clock in us, unless the request names a larger one
--   lastText   floorText + tokens - 1, or nil if that is the same
--   tokenTTL   the function of token_ttl.lua
--
-- While somebody waits, a "q" follows the number in the token's key (see lock.lua). The expiry of that key is extended
-- only once in an EXTENSION_PERIOD, as it costs as much as all the rest.
-- This stores the text if the key is free, and answers nothing. Otherwise it answers what is there.
local heldValue = call('SET', valueKey, text, 'NX', 'GET', 'PX', ttl)
if heldValue then
  local owner = string.match(text, '^[^\n]*\n')
  if string.sub(heldValue, 1, #owner) == owner then return 0 end
  local left = call('PTTL', valueKey)
  if left < 0 then return -1 end
  local lingers = string.byte(heldValue, -1) ~= BYTE_Q and string.find(heldValue, '^[^\n]*\n%d+ %d+ %d+ %w')
  return -2 - left - (lingers and LINGERS or 0)
end
local before = redis.pcall('SET', tokenKey, lastText or floorText, 'KEEPTTL', 'GET')
if type(before) == 'table' then -- the key has another type
  call('DEL', valueKey)
  return before
end
local last, floor = tonumber(before or 0), floorText + 0 -- tonumber would convert the text twice
if last and last < floor then -- the usual case: the token is the client's clock
  if last == 0 or floor - floor % EXTENSION_PERIOD > last then call('PEXPIRE', tokenKey, tokenTTL(floor)) end
  return 1
end
local tokens = lastText and lastText - floor + 1 or 1
if not last or not (last + tokens <= MAX_TOKEN) then -- with a "q" it is no number: others wait, so undo both steps
  call('DEL', valueKey)
  call('SET', tokenKey, before, 'KEEPTTL')
  return 0
end
local owner, rest = string.match(text, '^([^\n]*\n)%d+(.*)$')
call('SET', valueKey, owner .. string.format('%.0f', last + 1) .. rest, 'PX', ttl)
call('SET', tokenKey, string.format('%.0f', last + tokens), 'PX', tokenTTL(last + tokens))
return last + 1
