-- leak_checks.lua: included by other scripts, after lock.lua. It finds the leak in one key of a name, and changes
-- nothing. If a key has another type, that is an error before anything is changed.
--
-- The leaks of each key:
--   value    a lease that does not expire; or a value for shared holders that does not expire, without any holder
--   token    it does not expire, or more than a minute later than token_ttl.lua says
--   queue    waiters that are gone; or places without any records that do not expire: a waiter that is there writes
--            its record every ten seconds
--   holders  shared holders that do not expire, of which the value knows nothing
--   info     records that do not expire and belong to nobody

-- isGone tells whether a waiter is gone: it has given no sign of life for as long as a queue is kept without any, and
-- does not receive messages.
local function isGone(place)
  local w = readWaiter(place)
  return w and now - w.seen >= QUEUE_KEPT_FOR and (w.way == '-' or notify(w, '?') == 0)
end

local function isEndless(key) return call('PTTL', key) == -1 end

local function exists(key) return call('EXISTS', key) == 1 end

-- Each function returns the sort of the leak, how many there are, a mark, and for a holder its token and text. It
-- returns nothing if there is no leak.
local leaks = {}

function leaks.value()
  if not value or not isEndless(valueKey) then return end
  if sharedWeight() then
    if call('ZRANGEBYSCORE', holdersKey, '(' .. now, '+inf', 'LIMIT', 0, 1)[1] then return end
    return 'remains', 1, 'shared'
  end
  local token, text = string.match(value, '^[^\n]*\n(%d+) %d+ %d+ ?%w*\n(.*)$')
  if not token then return 'lease', 1, redis.sha1hex(value), '0', false end
  return 'lease', 1, redis.sha1hex((string.gsub(value, '\nq?$', '\n'))), token, (string.gsub(text, '\nq?$', ''))
end

function leaks.token()
  local ms = call('PTTL', tokenKey)
  if (ms == -1 or ms > tokenTTL(counter()) + 60000) and string.find(call('GET', tokenKey), '^%d+q?$') then
    return 'token', 1, ''
  end
end

-- queue checks that many places after one, and also returns the last place checked if there are more.
function leaks.queue(after, limit)
  if isEndless(queueKey) and not exists(infoKey) then return 'remains', call('ZCARD', queueKey), '' end
  local places = call('ZRANGEBYSCORE', queueKey, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local dead = {}
  for i = 1, #places, 2 do
    if isGone(places[i]) then table.insert(dead, places[i]) end
  end
  return 'waiters', #dead, places[2 * limit] or '', dead
end

function leaks.holders()
  if isEndless(holdersKey) and not (sharedWeight() and value) then return 'remains', 1, '' end
end

function leaks.info()
  if isEndless(infoKey) and not exists(holdersKey) and not exists(queueKey) and not (sharedWeight() and value) then
    return 'remains', 1, ''
  end
end

-- Fails if a key has another type.
call('GET', tokenKey)
call('ZCARD', queueKey)
call('ZCARD', holdersKey)
call('HEXISTS', infoKey, '')
