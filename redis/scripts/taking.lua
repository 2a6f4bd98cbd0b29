-- taking.lua: is put in where another script says so. It takes a lock exclusively if nobody holds it or waits for it. This is the common case, in as
-- few steps as can be. It wants these variables, and returns the answer of the script:
--   value, counter  keys of one name: value and token
--   text    the value: owner, token, since when, text for people
--   ttl     in ms
--   least   the client's clock in us, which is also the token in the text
--   most    least + tokens - 1, or nil if that is the same
--   lasting the function of lasting.lua
--
-- While somebody waits, a "q" stands behind the number in the token's key (see entry.lua). The key is made to last only once in a
-- PERIOD, which is a part of RETENTION: it costs as much as all the rest.
local held = call('SET', value, text, 'NX', 'GET', 'PX', ttl)
if held then
  local owner = string.match(text, '^[^\n]*\n')
  if string.sub(held, 1, #owner) == owner then return 0 end
  local left = call('PTTL', value)
  return left < 0 and -1 or -2 - left
end
local before = redis.pcall('SET', counter, most or least, 'KEEPTTL', 'GET')
if type(before) == 'table' then -- the key is of another type
  call('DEL', value)
  return before
end
local last, floor = tonumber(before or 0), tonumber(least)
if last and last < floor then
  if last == 0 or floor - floor % PERIOD > last then call('PEXPIRE', counter, lasting(floor)) end
  return 1
end
local tokens = most and most - floor + 1 or 1
if not last or not (last + tokens <= MAX) then -- also what is not a number: take.lua knows what to do
  call('DEL', value)
  call('SET', counter, before, 'PX', lasting(last or 0))
  return 0
end
local owner, rest = string.match(text, '^([^\n]*\n)%d+(.*)$')
call('SET', value, owner .. string.format('%.0f', last + 1) .. rest, 'PX', ttl)
call('SET', counter, string.format('%.0f', last + tokens), 'PX', lasting(last + tokens))
return last + 1
