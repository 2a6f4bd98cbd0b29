-- shared.lua: the part of lock.lua about shared holders. It does nothing to a name that somebody holds exclusively.

-- setShared stores that the shared holders have a total weight of n.
local function setShared(n)
  local last = call('ZREVRANGE', holdersKey, 0, 0, 'WITHSCORES')[2]
  if last and tonumber(last) > now then
    value = 'shared\n' .. n
    call('SET', valueKey, value, 'PXAT', last)
    call('PEXPIREAT', holdersKey, last)
    extendKey(infoKey, last - now)
  else
    value = false
    call('DEL', valueKey)
    if last then call('DEL', holdersKey) end -- all of these have ended: see expireShared
  end
end

-- removeShared removes a shared holder and returns its weight. Call setShared afterwards.
local function removeShared(owner)
  local weight = string.match(call('HGET', infoKey, 'h' .. owner) or '0 ', '^(%d+) ')
  call('ZREM', holdersKey, owner)
  call('HDEL', infoKey, 'h' .. owner)
  return tonumber(weight)
end

-- rebase converts the ends of shared leases to the clock of this server. The last end equals the expiry of the value to
-- the millisecond, unless the slot was moved from a server with another clock: a move keeps the time that is left of
-- the expiry.
local function rebase()
  local last, expiry = call('ZREVRANGE', holdersKey, 0, 0, 'WITHSCORES')[2], call('PEXPIRETIME', valueKey)
  if not last or expiry < 0 or expiry == tonumber(last) then return end
  call('PEXPIREAT', holdersKey, expiry) -- needs no memory: see extendShared
  local all = call('ZRANGE', holdersKey, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do call('ZADD', holdersKey, string.format('%.0f', all[i + 1] + expiry - last), all[i]) end
end

-- expireShared removes shared holders whose lease has ended. Call it before looking at holders. If very many have
-- ended, it sets unfinished: the rest stay until the next script, and count as holders until then. sharedUntil removes
-- its own.
local function expireShared()
  local n = sharedWeight()
  if n == nil then return end
  if value then rebase() end
  local ended = call('ZRANGEBYSCORE', holdersKey, '-inf', value and now or '+inf', 'LIMIT', 0,
    value and MAX_STEPS or -1) -- if the value has expired, so has the list
  for _, owner in ipairs(ended) do n = n - removeShared(owner) end
  if value and (#ended > 0 or call('EXISTS', holdersKey) == 0) then setShared(n) end -- the list may be lost, too
  if value and #ended == MAX_STEPS then unfinished = true end
end

-- sharedUntil returns the end of the owner's shared lease, or nil.
local function sharedUntil(owner)
  local ends = sharedWeight() and tonumber(call('ZSCORE', holdersKey, owner) or nil)
  if not ends or ends > now then return ends end
  setShared(sharedWeight() - removeShared(owner))
end

-- extendShared makes the lease of a shared holder last until a moment. Its first step needs no memory: when the server
-- has none left, it allows all steps that follow the first change of a script.
local function extendShared(owner, moment)
  call('PEXPIREAT', holdersKey, moment, 'GT')
  call('ZADD', holdersKey, moment, owner)
  setShared(sharedWeight())
end
