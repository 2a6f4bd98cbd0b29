-- leaking.lua: is put in where another script says so, behind entry.lua. It finds what was left behind in one key of a name, and changes nothing.
-- A key of another type is an error before anything is changed.
--
-- What the parts of a name may have left behind:
--   value    a lease without an end; or word of shared holders, without an end, of whom none holds any more
--   token    one that is kept for a minute more than lasting.lua says, or without an end
--   queue    waiters that are gone; or places without an end of which no record is left: who is there writes one every ten seconds
--   holders  shared holders, without an end, of whom the value knows nothing
--   info     records, without an end, of nobody

-- gone tells whether a waiter is: it has not been heard of for as long as a queue is kept of which no waiter has been heard, and does not hear.
local function gone(place)
  local w = waiter(place)
  return w and now - w.seen >= LINGER and (w.way == '-' or tell(w, '?') == 0)
end

local function endless(key) return call('PTTL', key) == -1 end

local function exists(key) return call('EXISTS', key) == 1 end

-- Each returns the sort of the leak, how many there are, a mark, and of a holder the token and the text; or nothing if there is no leak.
local leaks = {}

function leaks.value()
  if not value or not endless(VALUE) then return end
  if used() then
    if call('ZRANGEBYSCORE', HOLDERS, '(' .. now, '+inf', 'LIMIT', 0, 1)[1] then return end
    return 'remains', 1, 'shared'
  end
  local token, text = string.match(value, '^[^\n]*\n(%d+) %d+ %d+\n(.*)$')
  if not token then return 'lease', 1, redis.sha1hex(value), '0', false end
  return 'lease', 1, redis.sha1hex((string.gsub(value, '\nq?$', '\n'))), token, (string.gsub(text, '\nq?$', ''))
end

function leaks.token()
  local ms = call('PTTL', TOKEN)
  if (ms == -1 or ms > lasting(counter()) + 60000) and string.find(call('GET', TOKEN), '^%d+q?$') then return 'token', 1, '' end
end

-- queue looks at so many places behind one, and returns the last one, too, if there are more.
function leaks.queue(after, most)
  if endless(QUEUE) and not exists(INFO) then return 'remains', call('ZCARD', QUEUE), '' end
  local places = call('ZRANGEBYSCORE', QUEUE, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  local dead = {}
  for i = 1, #places, 2 do
    if gone(places[i]) then table.insert(dead, places[i]) end
  end
  return 'waiters', #dead, places[2 * most] or '', dead
end

function leaks.holders()
  if endless(HOLDERS) and not (used() and value) then return 'remains', 1, '' end
end

function leaks.info()
  if endless(INFO) and not exists(HOLDERS) and not exists(QUEUE) and not (used() and value) then return 'remains', 1, '' end
end

-- Keys of other types are told by errors.
call('GET', TOKEN)
call('ZCARD', QUEUE)
call('ZCARD', HOLDERS)
call('HEXISTS', INFO, '')
