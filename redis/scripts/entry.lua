-- entry.lua: what the scripts know of one name. It is put in where another script says "-- use entry.lua",
-- and needs CLOSED ("1" while no lease may be granted) and FLOOR (the least token, as text) above it.
--
-- Keys of a name, all in one slot:
--   VALUE    string: who holds.  "<owner>\n<token> <tokens> <granted, us>\n<text>\n" (exclusive), and "q" behind it while somebody waits
--                                "\n<token> ..." (released, but kept for a while)
--                                "shared\n<weights together>" (see HOLDERS)
--                                anything else: a client of another kind
--            Its expiry is that of the lease, for shared holders of the last one.
--            When a slot is moved, it is what is left of it that goes along; the times in HOLDERS are those of the clock there: see rebase.
--   TOKEN    string: the last token given, and "q" behind it while somebody waits
--   QUEUE    zset:   who waits: the place of a call, which is its first owner, by order
--   HOLDERS  zset:   shared holders: owner, by the end of their lease (ms)
--   INFO     hash:   "h<owner>" of shared holders: "<weight> <token> <tokens> <granted, us>\n<text>"
--                    "w<place>" of waiters: "<mode> <weight> <size> <ttl> <tokens> <joined> <seen> <way> <ticket> <process>\n<text>"
--                    (way: P for PUBLISH, S for SPUBLISH, - for one who comes and looks)
--                    "o<place>" the owner who waits there, if that is not the first one; if it has not come yet, the one before, behind a "!"
local VALUE, TOKEN, QUEUE, HOLDERS, INFO = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = call('GET', VALUE)

-- owns tells whether owner holds exclusively.
local function owns(owner)
  return value and string.sub(value, 1, #owner + 1) == owner .. '\n'
end

-- used is the weights of the shared holders together, 0 if nobody holds, nil if somebody holds exclusively.
local function used()
  if not value then return 0 end
  return tonumber(string.match(value, '^shared\n(%d+)$'))
end

-- foreign tells whether a client of another kind holds.
local function foreign()
  return value and not used() and not string.find(value, '^[^\n]*\n%d+ %d+ %d+\n')
end

-- keep makes a key last for ms at least.
local function keep(key, ms)
  if call('PTTL', key) < ms then call('PEXPIRE', key, ms) end
end

-- counter is the last token given, and whether it is marked.
local function counter()
  local last, marked = string.match(call('GET', TOKEN) or '', '^(%d+)(q?)')
  return tonumber(last or 0), marked == 'q'
end

-- use lasting.lua
local function count(last, marked)
  call('SET', TOKEN, string.format(marked and '%.0fq' or '%.0f', last), 'PX', lasting(last))
end

-- waits tells whether anybody waits.
local function waits()
  return call('EXISTS', QUEUE) == 1
end

-- mint gives the first of n new tokens.
local function mint(n)
  local last, marked = counter()
  local token = math.max(last + 1, tonumber(FLOOR))
  if token > MAX - n + 1 then error('SPENT') end
  count(token + n - 1, marked)
  return token
end

-- mark says beside the last token and in the value whether somebody waits: that is where those look who think that nobody
-- does. It comes last in each script that may change it. A semaphore has its last token in common with the lock of its name, and nobody
-- looks for its marks.
local function mark()
  if not string.find(QUEUE, ':queue$') then return end
  local now = waits()
  local last, marked = counter()
  if marked ~= now then count(last, now) end
  if value and not used() and not foreign() and (string.sub(value, -1) == 'q') ~= now then
    value = now and value .. 'q' or string.sub(value, 1, -2)
    call('SET', VALUE, value, 'KEEPTTL')
  end
end

-- share writes down that shared holders have weight n together.
local function share(n)
  local last = call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]
  if last then
    value = 'shared\n' .. n
    call('SET', VALUE, value, 'PXAT', last)
    call('PEXPIREAT', HOLDERS, last)
    keep(INFO, last - now)
  else
    value = false
    call('DEL', VALUE)
  end
end

-- take_out removes a shared holder and returns its weight. share must follow.
local function take_out(owner)
  local weight = string.match(call('HGET', INFO, 'h' .. owner) or '0 ', '^(%d+) ')
  call('ZREM', HOLDERS, owner)
  call('HDEL', INFO, 'h' .. owner)
  return tonumber(weight)
end

-- rebase puts the ends of shared leases on the clock of this server. The last of them is the expiry of the value to the millisecond, unless they were
-- written by a server with another clock, from which the slot was moved: the expiry has come as a time that is left.
local function rebase()
  local last, ends = call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2], call('PEXPIRETIME', VALUE)
  if not last or ends < 0 or ends == tonumber(last) then return end
  call('PEXPIREAT', HOLDERS, ends) -- needs no memory: see extend
  local all = call('ZRANGE', HOLDERS, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do call('ZADD', HOLDERS, string.format('%.0f', all[i + 1] + ends - last), all[i]) end
end

-- settle lets go of shared holders whose lease has ended. Whatever looks at holders calls it first.
local function settle()
  local n = used()
  if n == nil then return end
  if value then rebase() end
  local ended = call('ZRANGEBYSCORE', HOLDERS, '-inf', value and now or '+inf')
  for _, owner in ipairs(ended) do n = n - take_out(owner) end
  if value and (#ended > 0 or call('EXISTS', HOLDERS) == 0) then share(n) end -- the list may be lost, too
end

-- shares is the end of the owner's shared lease, or nil.
local function shares(owner)
  return used() and tonumber(call('ZSCORE', HOLDERS, owner) or nil)
end

-- extend makes the lease of a shared holder last until a moment. Its first step needs no memory: when the server has none left,
-- those that follow the first change of a script are allowed.
local function extend(owner, moment)
  call('PEXPIREAT', HOLDERS, moment, 'GT')
  call('ZADD', HOLDERS, moment, owner)
  share(used())
end

-- fits tells whether a request can be granted beside those who hold.
local function fits(mode, weight, size)
  if mode == 'x' then return not value end
  local n = used()
  return n and n + weight <= size
end

-- put makes owner a holder.
local function put(owner, mode, weight, tokens, ms, token, text)
  local detail = string.format('%.0f %d %.0f\n%s', token, tokens, now * 1000, text)
  if mode == 'x' then
    value = owner .. '\n' .. detail .. (waits() and '\nq' or '\n')
    call('SET', VALUE, value, 'PX', ms)
  else
    if not value then settle() end -- nothing of earlier shared holders may be left
    local n = used() + weight
    call('HSET', INFO, 'h' .. owner, weight .. ' ' .. detail)
    call('ZADD', HOLDERS, now + ms, owner)
    share(n)
  end
end

-- ends is in how many ms the next lease ends: 0 if nobody holds, -1 if never.
local function ends()
  if not value then return 0 end
  if used() then return math.max(call('ZRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2] - now, 0) end
  return call('PTTL', VALUE)
end

-- waiter is the record of who waits at a place, or nil.
local function waiter(place)
  local w = {}
  w.mode, w.weight, w.size, w.ttl, w.tokens, w.joined, w.seen, w.way, w.ticket, w.process, w.text = string.match(
    call('HGET', INFO, 'w' .. place) or '', '^(%a) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S) (%d+) (%S+)\n(.*)$')
  if not w.mode then return nil end
  for _, field in ipairs({'weight', 'size', 'ttl', 'tokens', 'seen'}) do w[field] = tonumber(w[field]) end
  if w.tokens > TOKENS then return nil end -- nobody asks for so many: another program has written it
  return w
end

-- met writes down when a waiter who comes and looks was seen, if that is still to come by the clock of this server: it was written by the clock of
-- another one, from which the slot was moved, or the clock was set back. He would seem to be here until then, and everybody would wait for him.
local function met(place, w)
  if w.seen <= now then return end
  w.seen = now
  local record = string.gsub(call('HGET', INFO, 'w' .. place), '^(%a %d+ %d+ %d+ %d+ %d+) %d+', '%1 ' .. string.format('%.0f', now))
  call('HSET', INFO, 'w' .. place, record)
end

-- at is the owner who waits at a place.
local function at(place)
  return call('HGET', INFO, 'o' .. place) or place
end

-- leave takes a place out of the queue, and tells whether it was there.
local function leave(place)
  call('HDEL', INFO, 'w' .. place, 'o' .. place)
  return call('ZREM', QUEUE, place) == 1
end

-- tell sends a message to a waiter, and returns how many heard it, or nil if nothing can be sent.
local function tell(w, message)
  local heard
  if w.way == 'P' then
    heard = pcall('PUBLISH', PREFIX .. 'wake:' .. w.process, message)
  else
    heard = pcall('SPUBLISH', string.gsub(TOKEN, 'token$', 'wake:') .. w.process, message)
  end
  return type(heard) == 'number' and heard or nil
end

-- warn tells the second of the queue to look in ms: a head who comes and looks may be gone, and the second would not hear that the name is free.
-- It is told to nobody who is here, which is me.
local function warn(me, ms)
  while true do
    local second = call('ZRANGE', QUEUE, 1, 1)[1]
    if not second or second == me then return end
    local w = waiter(second)
    if w and (w.way == '-' or tell(w, string.format('h %s %.0f', w.ticket, ms)) ~= 0) then return end
    leave(second)
  end
end

-- serve grants to the head of the queue for as long as it fits, and tells the next when to look. A head that
-- does not fit is not overtaken: it could wait for ever. A head that does not hear is gone. With me, serve
-- stops before that place, whose owner is here and need not be told. changed says that the head, or what it waits for, is another one.
--
-- What is sent here may arrive also where this server counts no listener: at those who listen to a replica. So whoever is to be granted
-- something is asked first whether he hears ("?"), and what he is told has been done.
local function serve(me, changed)
  while CLOSED ~= '1' do
    local place = call('ZRANGE', QUEUE, 0, 0)[1]
    if not place or place == me then return end
    local w = waiter(place)
    if not w then
      leave(place)
    elseif not fits(w.mode, w.weight, w.size) then
      if not changed or w.way == '-' or tell(w, 'h ' .. w.ticket .. ' ' .. (foreign() and 0 or ends())) ~= 0 then return end
      leave(place)
    elseif w.way == '-' then
      met(place, w)
      if now - w.seen < GONE then
        if changed then warn(me, GONE - now + w.seen) end
        return
      end
      leave(place)
    else
      local heard = tell(w, '?')
      if not heard then return end
      local owner = at(place)
      leave(place)
      if heard > 0 then
        local token, ms = mint(w.tokens), math.min(w.ttl, FIRST)
        put(owner, w.mode, w.weight, w.tokens, ms, token, w.text)
        tell(w, string.format('g %s %.0f %d %d %.0f %d', w.ticket, token, w.tokens, ms, now, call('ZCARD', QUEUE)))
      end
    end
    changed = true
  end
end
