-- pass_steps.lua: included by other scripts. It is what pass.lua does, and needs these variables: valueKey, tokenKey,
-- holder, text, ttl, floorText; and the functions of exclusive.lua and token_ttl.lua.
local value = call('GET', valueKey)
local held = exclusive(value, holder)
if value and not held then return string.byte(value, -1) == 113 and 3 or 0 end -- "q"
local before = redis.pcall('SET', tokenKey, floorText, 'KEEPTTL', 'GET')
if type(before) == 'table' then return 0 end -- the key has another type
local last, floor = tonumber(before or 0), floorText + 0
if not last or last >= floor then -- with a "q" it is no number: others wait
  call('SET', tokenKey, before, 'KEEPTTL')
  return last and 0 or 3
end
if last == 0 or floor - floor % EXTENSION_PERIOD > last then call('PEXPIRE', tokenKey, tokenTTL(floor)) end
call('SET', valueKey, text, 'PX', ttl)
return held and 1 or 2
