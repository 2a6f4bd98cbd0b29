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
local head = livingHead()
local left = redis.call('pttl', lock)
if left == -2 and (not head or head == owner) then
  local last = redis.call('incrby', counter, tokens)
  local damaged = tokenError(last, tokens)
  if damaged then return damaged end
  leave(owner)
  redis.call('hset', lock, 'leasehold:token', last, 'leasehold:holder', text, owner, 1)
  redis.call('pexpire', lock, lease)
  return {1, last}
end

local soon = math.ceil(lifetime / 5)
if left > 0 then
  soon = math.min(soon, left)
elseif left == -2 then -- the lock is free, and the head late
  left = 0
  if join then
    wake(head)
  end
  soon = math.max(math.min(soon, (deadline(head) or now + soon) - now + 1), math.ceil(lifetime / 50))
end
if not join then
  return {0, left, soon}
end

local function leaveIfTooMany()
  if redis.call('llen', queue) >= maxWaiters then
    for _, other in ipairs(redis.call('lrange', queue, 0, -1)) do
      local aliveUntil = waiter(other)
      if aliveUntil and aliveUntil <= now then
        leave(other)
      end
    end
  end
  return redis.call('llen', queue) >= maxWaiters
end

local _, wait = waiter(owner)
local time = deadline(owner)
if not time then
  redis.call('lrem', queue, 0, owner)
  if maxWaiters > 0 and leaveIfTooMany() then
    return {2, 0}
  end
  local last = redis.call('lindex', queue, -1)
  local _, waitOfLast = waiter(last or '')
  wait = (not last or waitOfLast == 0) and 0 or longWait
  time = math.max(last and deadline(last) or 0, now + left) + wait
  setDeadline(owner, time)
  redis.call('rpush', queue, owner)
elseif wait ~= 0 then
  local others = 0
  for _, other in ipairs(redis.call('lrange', queue, 0, -1)) do
    if other == owner then
      break
    end
    others = others + (waiter(other) and 0 or 1)
  end
  if others == 0 then
    subtractWait(owner, wait or longWait)
    wait = 0
  else
    wait = wait or longWait
    if time < now + lifetime + others * longWait then
      setDeadline(owner, now + lifetime + others * longWait)
    end
  end
end
setWaiter(owner, now + lifetime, wait, text)
if wait == 0 then
  setDeadline(owner, now + lifetime)
end
return {0, left, soon}
