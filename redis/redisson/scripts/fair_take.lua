-- Takes a fair lock for an owner, if nobody holds it or has waited for longer.
-- KEYS: ..., the counter of tokens.
-- ARGV: ..., owner, lease in milliseconds, how many tokens, public text about the holder, 1 to join the queue or 0, how
-- many may wait or 0, how long others in Redisson wait by default.
-- Returns {1, last token}; or {0, what is left of the holder's lease or -1 if it never ends, how soon to ask again};
-- or {2, 0} if too many wait.
local counter = KEYS[6]
local owner, lease, tokens, text = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local join, maxWaiters, longWait = ARGV[8] == '1', tonumber(ARGV[9]), tonumber(ARGV[10])

if redis.call('hexists', lock, owner) == 1 then
  -- The same request once more: it must not raise the hold count, as that would take another release.
  if redis.call('pttl', lock) < lease then
    redis.call('pexpire', lock, lease)
  end
  return {1, tonumber(redis.call('hget', lock, 'leasehold:token') or 0)}
end
local left = redis.call('pttl', lock)
if left ~= -2 and isOfOthers(lock) then
  return refuseHash()
end
local head, hasMore = livingHead(owner, not join)
if left == -2 and (not head or head == owner) then
  local last = redis.call('incrby', counter, tokens)
  local damaged = tokenError(last, tokens)
  if damaged then return damaged end
  leave(owner)
  redis.call('hset', lock, 'leasehold:token', last, 'leasehold:holder', text, owner, 1)
  redis.call('pexpire', lock, lease)
  keepPlaces(lease)
  return {1, last}
end

local soon = math.ceil(lifetime / 5)
if left > 0 then
  soon = math.min(soon, left)
elseif left == -2 then -- the lock is free, and the head late
  left = 0
  soon = math.max(math.min(soon, (deadline(head) or now + soon) - now + 1), math.ceil(lifetime / 50))
  soon = hasMore and 1 or soon
end
if not join then
  return {0, left, soon}
end

-- joinIsRefused reports whether too many wait, after it has removed those that have died.
local function joinIsRefused()
  if redis.call('llen', queue) >= maxWaiters then
    for _, other in ipairs(redis.call('lrange', queue, 0, many - 1)) do
      local aliveUntil = waiter(other)
      if aliveUntil and aliveUntil <= now then
        leave(other)
      end
    end
  end
  return redis.call('llen', queue) >= maxWaiters
end

-- others counts those in the queue that are not of leasehold, up to an owner, and reports whether it has found that.
local function others(owner)
  local first = redis.call('lrange', queue, 0, some - 1)
  local known = redis.call('hmget', waiters, unpack(first))
  local count = 0
  for i, other in ipairs(first) do
    if other == owner then
      return count, true
    elseif not known[i] then
      count = count + 1
    end
  end
  return count, false
end

local time, aliveUntil = deadline(owner), waiter(owner)
local subtracted = 0 -- what those before the owner may subtract from its deadline
if not time then
  redis.call('lrem', queue, 0, owner)
  if maxWaiters > 0 and joinIsRefused() then
    return {2, 0}
  end
  local last = redis.call('lindex', queue, -1)
  local timeOfLast, lastAliveUntil = deadline(last or ''), waiter(last or '')
  if lastAliveUntil then
    subtracted = (timeOfLast or 0) - lastAliveUntil
  elseif last then
    local count = redis.call('llen', queue) - redis.call('hlen', waiters)
    subtracted = math.max((timeOfLast or 0) - now, longWait * math.max(count, 1))
  end
  redis.call('rpush', queue, owner)
elseif not aliveUntil or time > aliveUntil then
  local count, isAll = others(owner)
  if count > 0 or not isAll then
    subtracted = math.max(time - (aliveUntil or now + lifetime), longWait * count)
  end
elseif time < aliveUntil then
  subtracted = longWait * others(owner) -- somebody has subtracted more than expected
end
setWaiter(owner, now + lifetime, text)
setDeadline(owner, now + lifetime + math.max(subtracted, 0))
if head == owner then
  keepPlaces(left)
end
return {0, left, soon}
