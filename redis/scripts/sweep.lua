-- sweep.lua: removes what was left behind in one key of a name, if it is still what was found, and hands over to the next.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  part, sort and mark as in leak.lua, for the queue also the place behind which to begin, and how many places to look at;
--         then floor (the client's clock, us), how many were removed in the steps before, closed
--   Answers {how many were removed, the last place, or nothing if there is none behind those that were looked at}.
local PART, FLOOR, BEFORE, CLOSED = ARGV[1], ARGV[6], tonumber(ARGV[7]), ARGV[8]

-- use entry.lua
-- use leaking.lua
local sort, count, found, dead = leaks[PART](ARGV[4], ARGV[5])
if sort ~= ARGV[2] or sort ~= 'waiters' and found ~= ARGV[3] then return {0, ''} end
if sort == 'token' then -- the token itself is kept: those to come must be larger
  call('PEXPIRE', TOKEN, lasting(counter()))
  return {1, ''}
end
if sort == 'waiters' then
  for _, place in ipairs(dead) do leave(place) end
  if found ~= '' then return {count, found} end -- whoever is first now may be as dead, and would be passed over with all the others in this step
elseif sort == 'lease' then
  value = false
  call('DEL', VALUE)
elseif PART == 'value' then
  settle()
else
  call('DEL', PART == 'queue' and QUEUE or PART == 'holders' and HOLDERS or INFO)
  if leaks.info() then call('DEL', INFO) end
end
if BEFORE + count > 0 then
  serve(nil, true)
  mark()
end
return {count, ''}
