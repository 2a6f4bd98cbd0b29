-- lock.lua: what the scripts share about one name. Other scripts include it with "-- use lock.lua". They must define
-- closed ("1" if no lease may be granted now, else "") and floor (the smallest token allowed, as text) above it.
--
-- Constants of all scripts. Before a script is loaded, newScriptSet (scripts.go) replaces each of these words with its
-- value, and drops all lines that are only comments.
--   PREFIX                text: WithPrefix, the prefix of all value keys
--   IDENTITY              text: the identity of the server for which this script is made
--   FIRST_LEASE           ms: the first lease of a waiter that another's release granted (Go: firstLease)
--   POLLER_GONE_AFTER     ms: how long after its last poll a polling waiter counts as gone (pollerGoneAfter)
--   QUEUE_KEPT_FOR        ms: how long a queue outlives the last sign of life of its waiters (queueKeptFor)
--   LONGEST_TTL           ms: the longest ttl that any marker may name (longestTTL)
--   RETENTION             ms: WithTokenRetention, how long the last token is kept
--   EXTENSION_PERIOD      us of tokens: the expiry of the token's key is extended once in so many; RETENTION / 8
--   BYTE_Q                the byte of the letter q, which ends the value of a name while somebody waits
--   BYTE_TILDE            the byte of "~", with which the process of a waiter of redlock begins
--   MAX_TOKEN             the largest token (driver.MaxToken)
--   MAX_TOKENS_PER_GRANT  more tokens than any waiter asks for at once (maxTokensPerGrant)
--   MAX_STEPS             how many waiters handOver skips in one run; it serves half as many (maxSteps)
--   NOBODY                text: an owner that does not exist. Its release only hands over (nobody)
--   LINGERS               what an answer of take_steps.lua is smaller by if the holder can be recalled (answerLingers)
--   TAKES_CLOSED, OPEN_MARKER, OPEN_MARKER_LENGTH    see check_marker.lua
--
-- Keys of a name, all in one slot:
--   valueKey    string: who holds.  "<owner>\n<token> <tokens> <granted>\n<text>\n" (exclusive),
--                                   followed by "q" while somebody waits
--                                   "<owner>\n<token> <tokens> <granted> <way><process>\n..." (it may be idle: recall)
--                                   "\n<token> ..." (released, but kept for a while)
--                                   "shared\n<total weight>" (see holdersKey)
--                                   anything else: another kind of client
--               <token> is the first of <tokens> tokens. <granted> is when it was granted, in us: by this server's
--               clock, or by the client's if take_free.lua, batch.lua or take_all.lua granted it. It is only for
--               display. The key expires with the lease, or with the last lease of shared holders.
--               A moved slot takes along the time that is left. The times in holdersKey then are those of the old
--               server's clock: see rebase.
--   tokenKey    string: the last token given, followed by "q" while somebody waits
--   queueKey    zset:   the waiters in order: the place of each call, which is its first owner
--   holdersKey  zset:   shared holders: owner, by the end of its lease (ms)
--   infoKey     hash:   "h<owner>" of shared holders: "<weight> <token> <tokens> <granted>\n<text>"
--                       "w<place>" of waiters:
--                       "<mode> <weight> <size> <ttl> <tokens> <joined> <seen> <way> <ticket> <process>\n<text>"
--                       (ttl, joined and seen in ms; way: P for PUBLISH, S for SPUBLISH, - for a waiter that polls)
--                       Written by join_queue.lua and take.lua when an owner joins, by take.lua again at each poll,
--                       and by release.lua while it keeps the head for the next owner. noteSeen corrects its time.
--                       "o<place>" the owner that waits there, if it is not the first one of the call;
--                       or "!" and the previous owner, until the next one comes
--
-- Messages. Those to a waiter go to the channel of its process: PREFIX .. "wake:<process>", or in a Cluster "wake:" in
-- the slot of the name. onMessage in wait.go receives them, and finds the waiter by its ticket.
--   "?"     asks whether anybody listens: the number of receivers is the answer. From handOver and release_to_head.lua
--           before they grant, and from take.lua and leak_checks.lua to waiters that seem to be gone.
--   "g <ticket> <token> <tokens> <lease, ms> <granted, ms of this server's clock> <more than 0 if others still wait>"
--           The waiter holds now. From handOver, and from release_to_head.lua. To a process that begins with "~":
--           also "\0<number of the ticket> <process>\0<ttl, ms>\0<text>" of the one behind it, if hand_over.lua could
--           pass it the lock.
--   "p <ticket> <token> 1 <lease, ms> <passed, ms of this server's clock> <1 if others still wait> <age> <owner>",
--           and the same end: the waiter holds now, as that owner, with a majority of the nodes of redlock.
--           The lease counts from <age> ms before. From hand_over.lua.
--   "h <number of the ticket> <ms>"
--           The waiter must poll in so many ms, because nothing may notify it before then; -1: as late as it may.
--           From handOver and release_to_head.lua to a head that must wait: when the next lease ends. From notifySecond
--           to the one behind a polling head: when that counts as gone. The rest of the ticket is secret until the
--           grant.
--   "r <way> <process> <number of the ticket, or 0> <value key>"
--           A waiter of that process has joined: let go of the lock if it is idle. From take.lua to the process in the
--           value. If it is in use, and the number is not 0, the answer to the waiter is:
--   "u <number of the ticket>"
--           The lock is in use. From the engine of the holder (recall.go).
--   ""      on the channel that is named as the value key of a latch: look at the latch again. It was set, has reached
--           zero, or expires sooner. From latch_set.lua and latch_down.lua to all that wait for it (connection.go).
local valueKey, tokenKey, queueKey, holdersKey, infoKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = call('GET', valueKey)
-- unfinished tells whether the script has stopped before it was done: see handOver, notifySecond and expireShared. The
-- client then has the rest done by releases of NOBODY (finishHandOver in release.go), and only after these does it know
-- whether a take is refused.
local unfinished = false

-- holds tells whether owner holds exclusively.
local function holds(owner)
  return value and string.sub(value, 1, #owner + 1) == owner .. '\n'
end

-- sharedWeight returns the total weight of the shared holders: 0 if nobody holds, nil if somebody holds exclusively.
local function sharedWeight()
  if not value then return 0 end
  return tonumber(string.match(value, '^shared\n(%d+)$'))
end

-- isForeign tells whether another kind of client holds.
local function isForeign()
  return value and not sharedWeight() and not string.find(value, '^[^\n]*\n%d+ %d+ %d+ ?%w*\n')
end

-- extendKey makes a key last for at least ms.
local function extendKey(key, ms)
  if call('PTTL', key) < ms then call('PEXPIRE', key, ms) end
end

-- counter returns the last token given, and whether it is marked.
local function counter()
  local last, marked = string.match(call('GET', tokenKey) or '', '^(%d+)(q?)')
  return tonumber(last or 0), marked == 'q'
end

-- use token_ttl.lua
local function setCounter(last, marked)
  call('SET', tokenKey, string.format(marked and '%.0fq' or '%.0f', last), 'PX', tokenTTL(last))
end

-- hasWaiters tells whether anybody waits.
local function hasWaiters()
  return call('EXISTS', queueKey) == 1
end

-- nextToken returns the first of n new tokens.
local function nextToken(n)
  local last, marked = counter()
  local token = math.max(last + 1, tonumber(floor))
  if token > MAX_TOKEN - n + 1 then error('EXHAUSTED') end
  setCounter(token + n - 1, marked)
  return token
end

-- updateMarks writes whether somebody waits, as a "q" behind the last token and behind the value. Requests that assume
-- that nobody waits look nowhere else. Call it last in each script that may change that. A semaphore has no marks: it
-- shares its last token with the lock of its name, and no request looks for them.
local function updateMarks()
  if not string.find(queueKey, ':queue$') then return end
  local waiting = hasWaiters()
  local last, marked = counter()
  if marked ~= waiting then setCounter(last, waiting) end
  if value and not sharedWeight() and not isForeign() and (string.sub(value, -1) == 'q') ~= waiting then
    value = waiting and value .. 'q' or string.sub(value, 1, -2)
    call('SET', valueKey, value, 'KEEPTTL')
  end
end

-- use shared.lua

-- fits tells whether a request can be granted in addition to the current holders.
local function fits(mode, weight, size)
  if mode == 'x' then return not value end
  local n = sharedWeight()
  return n and n + weight <= size
end

-- setHolder makes owner a holder.
local function setHolder(owner, mode, weight, tokens, ms, token, text)
  local detail = string.format('%.0f %d %.0f\n%s', token, tokens, now * 1000, text)
  if mode == 'x' then
    value = owner .. '\n' .. detail .. (hasWaiters() and '\nq' or '\n')
    call('SET', valueKey, value, 'PX', ms)
  else
    if not value then expireShared() end -- drop what is left of earlier shared holders
    local n = sharedWeight() + weight
    call('HSET', infoKey, 'h' .. owner, weight .. ' ' .. detail)
    call('ZADD', holdersKey, now + ms, owner)
    setShared(n)
  end
end

-- endsIn returns in how many ms the next lease ends: 0 if nobody holds, -1 if never.
local function endsIn()
  if not value then return 0 end
  if sharedWeight() then return math.max(call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')[2] - now, 0) end
  return call('PTTL', valueKey)
end

-- readWaiter returns the record of the waiter at a place, or nil.
local function readWaiter(place)
  local w = {}
  w.mode, w.weight, w.size, w.ttl, w.tokens, w.joined, w.seen, w.way, w.ticket, w.process, w.text = string.match(
    call('HGET', infoKey, 'w' .. place) or '',
    '^(%a) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S) (%d+[-%x]*) (%S+)\n(.*)$')
  if not w.mode then return nil end
  w.number = string.match(w.ticket, '^%d+') -- the rest of the ticket is secret
  for _, field in ipairs({'weight', 'size', 'ttl', 'tokens', 'seen'}) do w[field] = tonumber(w[field]) end
  if w.tokens > MAX_TOKENS_PER_GRANT then return nil end -- no waiter asks for so many: another program wrote it
  return w
end

-- noteSeen corrects the time at which a polling waiter was last seen, if that is in the future of this server's clock:
-- it comes from the clock of a server from which the slot was moved, or the clock was set back. Otherwise the waiter
-- would count as alive until then, and all others would wait for it.
local function noteSeen(place, w)
  if w.seen <= now then return end
  w.seen = now
  local record = string.gsub(call('HGET', infoKey, 'w' .. place),
    '^(%a %d+ %d+ %d+ %d+ %d+) %d+', '%1 ' .. string.format('%.0f', now))
  call('HSET', infoKey, 'w' .. place, record)
end

-- ownerAt returns the owner that waits at a place.
local function ownerAt(place)
  return call('HGET', infoKey, 'o' .. place) or place
end

-- leaveQueue removes a place from the queue, and tells whether it was there.
local function leaveQueue(place)
  call('HDEL', infoKey, 'w' .. place, 'o' .. place)
  return call('ZREM', queueKey, place) == 1
end

-- notify sends a message to a waiter. It returns how many received it, or nil if nothing can be sent.
local function notify(w, message)
  local receivers
  if w.way == 'P' then
    receivers = pcall('PUBLISH', PREFIX .. 'wake:' .. w.process, message)
  else
    receivers = pcall('SPUBLISH', string.gsub(tokenKey, 'token$', 'wake:') .. w.process, message)
  end
  return type(receivers) == 'number' and receivers or nil
end

-- notifySecond tells the second waiter to poll in ms: a polling head may be gone, and the second one would not learn
-- that the name is free. It does not notify the place me, whose owner is running this script. It passes over at most
-- MAX_STEPS waiters.
local function notifySecond(me, ms)
  for _ = 1, MAX_STEPS do
    local second = call('ZRANGE', queueKey, 1, 1)[1]
    if not second or second == me then return end
    local w = readWaiter(second)
    if w and (w.way == '-' or notify(w, string.format('h %s %.0f', w.number, ms)) ~= 0) then return end
    leaveQueue(second)
  end
  unfinished = true
end

-- handOver grants to the head of the queue, again and again while the requests fit, and tells the next waiter when to
-- poll. It does not overtake a head that does not fit, which otherwise might wait for ever. It skips a head that does
-- not receive messages, as that one is gone. With me, it stops before that place, whose owner is running this script
-- and needs no message. changed says that the head, or what it waits for, has changed.
--
-- In one run it skips MAX_STEPS waiters at most, or serves half as many, as the server does nothing else meanwhile. If
-- there are more, it sets unfinished. In case that the client dies before it goes on, the next waiter is told to poll.
--
-- A message may also reach subscribers that this server does not count, because they subscribed at a replica. So
-- before it grants, it asks the waiter with "?" whether it listens. It tells a waiter only what it has already done.
local function handOver(me, changed)
  local steps = 0
  while closed ~= '1' do
    local place = call('ZRANGE', queueKey, 0, 0)[1]
    if not place or place == me then return end
    local w = readWaiter(place)
    if steps >= MAX_STEPS then
      unfinished = true
      if w and w.way ~= '-' then notify(w, 'h ' .. w.number .. ' 0') end
      return
    elseif not w then
      leaveQueue(place)
    elseif not fits(w.mode, w.weight, w.size) then
      if not changed or w.way == '-' then return end
      if notify(w, 'h ' .. w.number .. ' ' .. (isForeign() and 0 or endsIn())) ~= 0 then return end
      leaveQueue(place)
    elseif w.way == '-' then
      noteSeen(place, w)
      if now - w.seen < POLLER_GONE_AFTER then
        if changed then notifySecond(me, POLLER_GONE_AFTER - now + w.seen) end
        return
      end
      leaveQueue(place)
    else
      local receivers = notify(w, '?')
      if not receivers then return end
      local owner = ownerAt(place)
      leaveQueue(place)
      if receivers > 0 then
        local token, ms = nextToken(w.tokens), math.min(w.ttl, FIRST_LEASE)
        setHolder(owner, w.mode, w.weight, w.tokens, ms, token, w.text)
        notify(w, string.format('g %s %.0f %d %d %.0f %d', w.ticket, token, w.tokens, ms, now, call('ZCARD', queueKey)))
        steps = steps + 1 -- it takes the server about as long as to skip two
      end
    end
    changed, steps = true, steps + 1
  end
end
