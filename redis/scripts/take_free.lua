-- take_free.lua: takes a lock exclusively if nobody holds it or waits for it. This is the common case, in as few steps as can be.
--   KEYS  value, token of one name
--   ARGV  the value, ttl (ms), floor (the client's clock, us), which is also the token in the value, floor + tokens - 1 if that is another number
--   Answers the token: granted. 1: granted, with the floor as token. -1: held by somebody else. 0: ask with take.lua.
--
-- While somebody waits, a "q" stands behind the number in the token's key (see entry.lua). The key is made to last only once in a
-- PERIOD, which is a part of RETENTION: it costs as much as all the rest.
local call = redis.call
if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local owner = string.match(ARGV[1], '^[^\n]*\n')
  return string.sub(call('GET', KEYS[1]), 1, #owner) == owner and 0 or -1
end
local before = redis.pcall('SET', KEYS[2], ARGV[4] or ARGV[3], 'KEEPTTL', 'GET')
if type(before) == 'table' then -- the key is of another type
  call('DEL', KEYS[1])
  return before
end
local last, floor = tonumber(before or 0), tonumber(ARGV[3])
if last and last < floor then
  if last == 0 or floor - floor % PERIOD > last then call('PEXPIRE', KEYS[2], RETENTION) end
  return 1
end
local tokens = ARGV[4] and ARGV[4] - floor + 1 or 1
if not last or not (last + tokens <= MAX) then -- also what is not a number: take.lua knows what to do
  call('DEL', KEYS[1])
  call('SET', KEYS[2], before, 'PX', RETENTION)
  return 0
end
local owner, text = string.match(ARGV[1], '^([^\n]*\n)%d+(.*)$')
call('SET', KEYS[1], owner .. string.format('%.0f', last + 1) .. text, 'PX', ARGV[2])
call('SET', KEYS[2], string.format('%.0f', last + tokens), 'PX', RETENTION)
return last + 1
