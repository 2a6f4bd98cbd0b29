-- Begins the scripts of RFairLock.
-- The queue is a list of owners, the next one first. A waiter is believed to be alive until its deadline, in
-- milliseconds of the clients' clocks; it is its score in the sorted set of deadlines. Redisson lets everybody remove a
-- head whose deadline has passed. It makes the deadline of each waiter that of the one before plus a long wait, and
-- subtracts that wait again from all who are behind when the one before gets the lock or gives up.
-- A waiter of leasehold asks again all the time, so its deadline can be short. While someone else is before it, this
-- would be too short, as that one may subtract its wait. So it then has a deadline as in Redisson. The hash of waiters
-- has "<alive until> <wait> <public text>" for each waiter of leasehold; its wait is 0 once all before it are of
-- leasehold, too. An owner that is not in the queue means nothing there.
-- KEYS: the lock, the queue, the deadlines, the waiters of leasehold, what the channels of waiters begin with, others.
-- ARGV: now, how long a waiter of leasehold is believed to be alive, PUBLISH or SPUBLISH, others.
local lock, queue, deadlines, waiters, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now, lifetime, publish = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local function deadline(owner)
  return tonumber(redis.call('zscore', deadlines, owner) or nil)
end

local function setDeadline(owner, time)
  redis.call('zadd', deadlines, string.format('%.0f', time), owner)
end

-- waiter returns until when a waiter of leasehold is alive, its wait, and its text. It returns nothing for others.
local function waiter(owner)
  local aliveUntil, wait, text = string.match(redis.call('hget', waiters, owner) or '', '^(%d+) (%d+) (.*)$')
  return tonumber(aliveUntil), tonumber(wait), text
end

local function setWaiter(owner, aliveUntil, wait, text)
  redis.call('hset', waiters, owner, string.format('%.0f %.0f ', aliveUntil, wait) .. text)
  redis.call('pexpire', waiters, 20 * lifetime)
end

-- subtractWait subtracts the wait of an owner from the deadlines of all who are behind it.
local function subtractWait(owner, wait)
  local behind = false
  for _, other in ipairs(redis.call('lrange', queue, 0, -1)) do
    local _, otherWait = waiter(other)
    if behind and otherWait ~= 0 and deadline(other) then
      redis.call('zincrby', deadlines, -wait, other)
    end
    behind = behind or other == owner
  end
end

local function leave(owner)
  local _, wait = waiter(owner)
  if wait and wait > 0 then
    subtractWait(owner, wait)
  end
  redis.call('zrem', deadlines, owner)
  redis.call('lrem', queue, 0, owner)
  redis.call('hdel', waiters, owner)
end

local function wake(owner)
  return redis.call(publish, channel .. ':' .. owner, '0')
end

local function isFirstChance(owner)
  return redis.call('set', waiters .. ':' .. owner, 1, 'px', 2 * lifetime, 'nx')
end

-- livingHead removes dead heads, and returns the first waiter after them, or false.
local function livingHead()
  while true do
    local head = redis.call('lindex', queue, 0)
    if not head then
      return false
    end
    local aliveUntil, wait, text = waiter(head)
    local time = deadline(head)
    if aliveUntil and aliveUntil > now then
      if wait > 0 then
        subtractWait(head, wait)
        setWaiter(head, aliveUntil, 0, text)
      end
      if time ~= aliveUntil then
        setDeadline(head, aliveUntil)
      end
      return head
    elseif not aliveUntil and (not time or time > now) then
      return head
    elseif not aliveUntil and redis.call('exists', lock) == 1 then
      return head -- nobody is delayed by it yet
    elseif not aliveUntil and isFirstChance(head) and wake(head) > 0 then
      -- Its time was too short for a long queue: it still listens. So it gets one more chance.
      setDeadline(head, now + lifetime)
      return head
    end
    leave(head)
  end
end
