-- force.lua: takes a name away from the holder with a token, whoever it is, and hands over to the next.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  token (0 stands for a holder of another kind, which has none),
--         the end of a lease (ms) behind which to begin with the shared holders, how many of these to look at,
--         floor (the client's clock, us), closed
--   Answers {1 if there was such a holder, else 0, the end of the last lease that was looked at, or nothing if there is none behind it}.
local AFTER, MOST, FLOOR, CLOSED = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- use entry.lua

local token, found, last = tonumber(ARGV[1]), 0, ''
local function is(first, n)
  first, n = tonumber(first or 0), tonumber(n or 1)
  if first > MAX then first, n = 0, 1 end -- it is told of without a token, as it cannot be one
  return first <= token and token < first + n
end

-- search takes one of some shared holders away if it is the one.
local function search(owners)
  for _, owner in ipairs(owners) do
    if is(string.match(call('HGET', INFO, 'h' .. owner) or '', '^%d+ (%d+) (%d+) ')) then
      share(used() - take_out(owner))
      found, last = 1, ''
      return
    end
  end
end

settle()
if value and not used() then
  if is(string.match(value, '\n(%d+) (%d+) ')) then
    value, found = false, 1
    call('DEL', VALUE)
  end
elseif value then -- a lease that is renewed meanwhile ends later, so it is not missed
  search(call('ZRANGEBYSCORE', HOLDERS, '(' .. AFTER, '+inf', 'LIMIT', 0, MOST))
  local behind = call('ZRANGEBYSCORE', HOLDERS, '(' .. AFTER, '+inf', 'WITHSCORES', 'LIMIT', MOST - 1, 1)
  if found == 0 and behind[2] then -- the next part begins behind all that end at the same moment
    last = behind[2]
    search(call('ZRANGEBYSCORE', HOLDERS, last, last))
  end
end
serve(nil, found == 1)
mark()
return {found, last}
