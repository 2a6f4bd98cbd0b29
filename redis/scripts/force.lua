-- force.lua: releases a name for the holder of a token, whoever that is, and hands over to the next waiter.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  token (0 stands for another kind of holder, which has no token),
--         among shared holders: the end of a lease (ms) after which to begin, and how many to check,
--         floor (the client's clock, us), closed
--   Answers {1 if there was such a holder, else 0, the end of the last lease checked, or nothing if none follows,
--   1 if it has to be handed over to others, too (unfinished in lock.lua), else 0}.
local after, count, floor, closed = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- use lock.lua

local token, found, last = tonumber(ARGV[1]), 0, ''
local function hasToken(first, n)
  first, n = tonumber(first or 0), tonumber(n or 1)
  if first > MAX_TOKEN then first, n = 0, 1 end -- listings show it without a token, as the number is invalid
  return first <= token and token < first + n
end

-- removeFrom removes the shared holder with the token, if it is among these owners.
local function removeFrom(owners)
  for _, owner in ipairs(owners) do
    if hasToken(string.match(call('HGET', infoKey, 'h' .. owner) or '', '^%d+ (%d+) (%d+) ')) then
      setShared(sharedWeight() - removeShared(owner))
      found, last = 1, ''
      return
    end
  end
end

expireShared()
if value and not sharedWeight() then
  if hasToken(string.match(value, '\n(%d+) (%d+) ')) then
    value, found = false, 1
    call('DEL', valueKey)
  end
elseif value then -- a lease that is renewed meanwhile ends later, so it is not missed
  after = string.format('%.0f', math.max(after, now)) -- some that have ended may still be there: see expireShared
  removeFrom(call('ZRANGEBYSCORE', holdersKey, '(' .. after, '+inf', 'LIMIT', 0, count))
  local behind = call('ZRANGEBYSCORE', holdersKey, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', count - 1, 1)
  if found == 0 and behind[2] then -- the next part must begin after all leases that end at the same moment
    last = behind[2]
    removeFrom(call('ZRANGEBYSCORE', holdersKey, last, last))
  end
end
handOver(nil, found == 1)
updateMarks()
return {found, last, unfinished and hasWaiters() and 1 or 0}
