-- take.lua: tries once to get a lock or permits, and joins the queue on demand.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, ttl (ms), tokens, floor (the client's clock, us), text,
--         mode (x exclusive, s shared), weight, size,
--         way of notifying (P, S or -; "" not to join; p or s to be told if the lock is in use), ticket, process,
--         place in the queue ("" for the owner),
--         how many may wait (0: no limit), closed (see lock.lua)
--   Answers {token, tokens, waiting, 3 if it has to be handed over to others, too} if it is granted.
--   {0, now (ms), when the next lease ends (ms from now, -1 never, -2 not looked up), position in the queue (0 is the
--    head, -1 not queued), 1 for another kind of holder, 2 for one that can be recalled, if nobody waits, 3 if it has
--    to be handed over first (unfinished in lock.lua)} if it is refused.
--   0 if it is refused and the queue is full. The owner has not joined.
-- All of these are texts, and join_queue.lua uses them as such. They are converted to numbers after it.
local owner, ttl, tokens, floor, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local mode, weight, size = ARGV[6], ARGV[7], ARGV[8]
local way, ticket, process, place = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local maxWaiters, closed = ARGV[13], ARGV[14]
if place == '' then place = owner end
local probes = way == 'p' or way == 's'
if probes then way = string.upper(way) end

-- use join_queue.lua
-- use lock.lua

ttl, tokens, weight, size, maxWaiters =
  tonumber(ttl), tonumber(tokens), tonumber(weight), tonumber(size), tonumber(maxWaiters)
expireShared()
if holds(owner) then
  extendKey(valueKey, ttl)
  local token, n = string.match(value, '\n(%d+) (%d+) ')
  return {tonumber(token), tonumber(n), call('ZCARD', queueKey)}
end
local mine = sharedUntil(owner)
if mine then
  if now + ttl > mine then extendShared(owner, now + ttl) end
  local token, n = string.match(call('HGET', infoKey, 'h' .. owner) or '', '^%d+ (%d+) (%d+) ')
  return {tonumber(token), tonumber(n), call('ZCARD', queueKey)}
end

handOver(place, false)
-- A request is late, and must neither join nor be granted, if
--   it is of the first owner of its call, and the place has a record of an owner ("o"): another one has been there;
--   the place is kept ("!") for the owner that comes after it;
--   the owner at the place has a larger ticket: owners of a call come one after the other, with growing tickets.
-- For example, A waits at the place A, and is spent. The call goes on there as B: "oA" is B then, or "!A" until B has
-- come if the head is kept for it.
local previous = readWaiter(place)
local late = place == owner and call('HEXISTS', infoKey, 'o' .. place) == 1
late = late or ownerAt(place) == '!' .. owner
if previous and previous.process == process then
  local mine, its = tonumber(string.match(ticket, '^%d+')), tonumber(string.match(previous.ticket, '^%d+'))
  late = late or mine < its or mine == its and ownerAt(place) ~= owner
end
local head = call('ZRANGE', queueKey, 0, 0)[1]
if closed ~= '1' and not late and (not head or head == place) and fits(mode, weight, size) then
  if head then leaveQueue(place) end
  local token = nextToken(tokens)
  setHolder(owner, mode, weight, tokens, ttl, token, text)
  handOver(nil, true)
  updateMarks()
  local waiting = call('ZCARD', queueKey)
  return {token, tokens, waiting, unfinished and waiting > 0 and 3 or 0}
end
-- isQueueFull tells whether there is no room for one more waiter. It checks whether a few waiters are gone, others each
-- time: nothing else does while a lock is held for long, and they would fill the queue for ever.
local function isQueueFull()
  if maxWaiters == 0 then return false end
  local n = call('ZCARD', queueKey)
  if n < maxWaiters then return false end
  local from = now % n
  for _, place in ipairs(call('ZRANGE', queueKey, from, from + 7)) do
    local w = readWaiter(place)
    local isGone = not w or now - w.seen >= QUEUE_KEPT_FOR and (w.way == '-' or notify(w, '?') == 0)
    if isGone and leaveQueue(place) then n = n - 1 end
  end
  return n >= maxWaiters
end

local recalledBy, itsProcess = string.match(value or '', '^[^\n]*\n%d+ %d+ %d+ ([PS])(%x+)\n')
if way ~= '' and not late then
  local joined = now
  if previous then joined = previous.joined end
  if not call('ZSCORE', queueKey, place) then
    if isQueueFull() then return unfinished and {0, now, 0, -1, 3} or 0 end
    call('ZADD', queueKey, (call('ZREVRANGE', queueKey, 0, 0, 'WITHSCORES')[2] or 0) + 1, place)
  end
  call('HSET', infoKey, 'w' .. place, string.format('%s %d %.0f %.0f %d %.0f %.0f %s %s %s\n%s',
    mode, weight, size, ttl, tokens, joined, now, way, ticket, process, text))
  if place ~= owner then call('HSET', infoKey, 'o' .. place, owner) end
  extendKey(queueKey, QUEUE_KEPT_FOR)
  extendKey(infoKey, QUEUE_KEPT_FOR)
  updateMarks()
  if recalledBy then -- it may be idle
    local number = probes and string.match(ticket, '^%d+') or '0'
    notify({way = recalledBy, process = itsProcess},
      'r ' .. way .. ' ' .. process .. ' ' .. number .. ' ' .. valueKey)
  end
end
local what = unfinished and 3 or isForeign() and 1 or recalledBy and not hasWaiters() and 2 or 0
return {0, now, endsIn(), call('ZRANK', queueKey, place) or -1, what}
