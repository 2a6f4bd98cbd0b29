-- force.lua: takes a name away from the holder with a token, whoever it is, and hands over to the next.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  token (0 stands for a holder of another kind, which has none), floor (the client's clock, us), closed
--   Answers 1 if there was such a holder, else 0.
local FLOOR, CLOSED = ARGV[2], ARGV[3]

-- use entry.lua

local token, found = tonumber(ARGV[1]), 0
local function is(first, n)
  first, n = tonumber(first or 0), tonumber(n or 1)
  return first <= token and token < first + n
end

settle()
if value and not used() then
  if is(string.match(value, '\n(%d+) (%d+) ')) then
    value, found = false, 1
    call('DEL', VALUE)
  end
elseif value then
  for _, owner in ipairs(call('ZRANGE', HOLDERS, 0, -1)) do
    if is(string.match(call('HGET', INFO, 'h' .. owner) or '', '^%d+ (%d+) (%d+) ')) then
      share(used() - take_out(owner))
      found = 1
      break
    end
  end
end
serve(nil, found == 1)
mark()
return found
