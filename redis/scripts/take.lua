-- take.lua: tries once to get a lock or permits, and joins the queue if told to.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  owner, ttl (ms), tokens, floor (the client's clock, us), text,
--         mode (x exclusive, s shared), weight, size,
--         way ("" not to join; P, S, - to join), ticket, process, place in the queue ("" for the owner),
--         how many may wait (0: no limit), closed
--   Answers {token, tokens, waiting}: granted.
--   {0, now (ms), when the next lease ends (ms from now, -1 never), place (0 is the head, -1 none), 1 if the holder is of another kind}: refused.
--   0: refused, and as many wait as may. The owner has not joined.
local OWNER, FLOOR, PLACE, CLOSED = ARGV[1], ARGV[4], ARGV[12], ARGV[14]
if PLACE == '' then PLACE = OWNER end

-- use entry.lua

local ttl, tokens, mode, weight, size = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
settle()
if owns(OWNER) then
  keep(VALUE, ttl)
  local token, n = string.match(value, '\n(%d+) (%d+) ')
  return {tonumber(token), tonumber(n), call('ZCARD', QUEUE)}
end
local mine = shares(OWNER)
if mine then
  if now + ttl > mine then extend(OWNER, now + ttl) end
  local token, n = string.match(call('HGET', INFO, 'h' .. OWNER) or '', '^%d+ (%d+) (%d+) ')
  return {tonumber(token), tonumber(n), call('ZCARD', QUEUE)}
end

serve(PLACE, false)
-- Once another owner of the call has been at its place, or is to come, the first one is no more: its request has been under way for long. So it is for
-- one in between: the owners of a call come one after the other, with tickets that grow.
local before = waiter(PLACE)
local late = PLACE == OWNER and call('HEXISTS', INFO, 'o' .. PLACE) == 1
late = late or at(PLACE) == '!' .. OWNER
if before and before.process == ARGV[11] then
  local ticket = tonumber(ARGV[10])
  late = late or ticket < tonumber(before.ticket) or ticket == tonumber(before.ticket) and at(PLACE) ~= OWNER
end
local head = call('ZRANGE', QUEUE, 0, 0)[1]
if CLOSED == '' and not late and (not head or head == PLACE) and fits(mode, weight, size) then
  if head then leave(PLACE) end
  local token = mint(tokens)
  put(OWNER, mode, weight, tokens, ttl, token, ARGV[5])
  serve(nil, true)
  mark()
  return {token, tokens, call('ZCARD', QUEUE)}
end
-- crowded tells whether there is no room for one more. It looks whether a few of those who wait are gone, other ones
-- each time: behind a lock that is held for long nobody else does, and they would fill the queue for ever.
local function crowded()
  local most = tonumber(ARGV[13])
  if most == 0 then return false end
  local n = call('ZCARD', QUEUE)
  if n < most then return false end
  local from = now % n
  for _, place in ipairs(call('ZRANGE', QUEUE, from, from + 7)) do
    local w = waiter(place)
    local gone = not w or now - w.seen >= LINGER and (w.way == '-' or tell(w, '?') == 0)
    if gone and leave(place) then n = n - 1 end
  end
  return n >= most
end

if ARGV[9] ~= '' and not late then
  local joined = now
  if before then joined = before.joined end
  if not call('ZSCORE', QUEUE, PLACE) then
    if crowded() then return 0 end
    call('ZADD', QUEUE, (call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2] or 0) + 1, PLACE)
  end
  call('HSET', INFO, 'w' .. PLACE, string.format('%s %d %.0f %.0f %d %.0f %.0f %s %s %s\n%s',
    mode, weight, size, ttl, tokens, joined, now, ARGV[9], ARGV[10], ARGV[11], ARGV[5]))
  if PLACE ~= OWNER then call('HSET', INFO, 'o' .. PLACE, OWNER) end
  keep(QUEUE, LINGER)
  keep(INFO, LINGER)
  mark()
end
return {0, now, ends(), call('ZRANK', QUEUE, PLACE) or -1, foreign() and 1 or 0}
