-- Begins the scripts of RFairLock.
-- The queue is a list of owners, the next one first. Each waiter has a deadline in milliseconds of the clients' clocks,
-- its score in the sorted set of deadlines: everybody in Redisson removes a head whose deadline has passed. Redisson
-- makes the deadline of each waiter that of the one before plus a long wait. When the one before gets the lock or gives
-- up, it subtracts its wait from the deadlines of those behind. Nothing renews a deadline.
-- A waiter of leasehold asks again all the time. So it needs only a short deadline, plus the waits that those before it
-- may subtract. It subtracts nothing itself, as those behind it have not added anything for it. The hash of waiters has
-- "<alive until> <public text>" for each waiter of leasehold. An owner that is not in the queue means nothing there.
-- Whether another waiter is alive shows only in who listens on its channel. If somebody does, its deadline is raised
-- in time; if nobody does and it delays others, its deadline is lowered.
-- KEYS: the lock, the queue, the deadlines, the waiters of leasehold, what the channels of waiters begin with, others.
-- ARGV: now, how long a waiter of leasehold is believed to be alive, PUBLISH or SPUBLISH, others.
local lock, queue, deadlines, waiters, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now, lifetime, publish = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
-- For how long those that do not listen are believed to be alive, once the lock is free. A waiter of leasehold without
-- a subscription asks four times a second. A client of Redisson tries to connect again at least every 10 s.
local silence, othersSilence = 0.4 * lifetime, 3 * lifetime
-- How many waiters one script looks at in detail.
local some, many = 100, 1000

local function deadline(owner)
  return tonumber(redis.call('zscore', deadlines, owner) or nil)
end

local function setDeadline(owner, time)
  redis.call('zadd', deadlines, string.format('%.0f', time), owner)
end

-- waiter returns until when a waiter of leasehold is alive, and its text. It returns nothing for others.
local function waiter(owner)
  local aliveUntil, text = string.match(redis.call('hget', waiters, owner) or '', '^(%d+) (.*)$')
  return tonumber(aliveUntil), text
end

local function setWaiter(owner, aliveUntil, text)
  redis.call('hset', waiters, owner, string.format('%.0f ', aliveUntil) .. text)
  redis.call('pexpire', waiters, 20 * lifetime)
end

local function leave(owner)
  redis.call('zrem', deadlines, owner)
  redis.call('lrem', queue, 1, owner)
  redis.call('hdel', waiters, owner)
end

-- wake notifies a waiter, and returns how many listened. In an unsharded Cluster, and if it listens at a replica, the
-- server does not know of it.
local function wake(owner)
  return redis.call(publish, channel .. ':' .. owner, '0')
end

local function isFirstChance(owner)
  return redis.call('set', waiters .. ':' .. owner, 1, 'px', 2 * lifetime, 'nx')
end

-- keepPlaces keeps the places of other waiters that listen while the lock is taken: for what is left of the lease and
-- somewhat longer. Without it, one that waits for longer than it has thought removes itself, and joins again at the
-- end. Those behind one whose deadline is raised keep their distance from it, as it will subtract its wait from theirs.
local function keepPlaces(left)
  local soon, later = now + math.max(left, 0) + lifetime, now + math.max(left, 0) + 6 * lifetime
  local listening = {}
  local function listens(owner)
    if listening[owner] == nil then
      listening[owner] = redis.call('hexists', waiters, owner) == 0 and wake(owner) > 0
    end
    return listening[owner]
  end
  local raise = false
  for _, owner in ipairs(redis.call('zrange', deadlines, string.format('(%.0f', soon), '-inf', 'byscore', 'rev',
      'limit', 0, some)) do
    raise = listens(owner) or raise
  end
  if not raise then
    return
  end
  local ours = {}
  for _, owner in ipairs(redis.call('hkeys', waiters)) do
    ours[owner] = true
  end
  raise = 0
  for _, owner in ipairs(redis.call('lrange', queue, 0, -1)) do
    local time = not ours[owner] and deadline(owner)
    if time and (raise > 0 or time < soon) and listens(owner) then
      if time + raise < soon then
        raise = later - time
      end
      setDeadline(owner, time + raise)
    end
  end
end

-- livingHead removes dead heads, and returns the first waiter after them, or false. If the lock is free, it notifies
-- that waiter, unless it is the one who asks, or asks quietly. When it has removed many, it leaves the rest to the next
-- call, and also returns true.
local function livingHead(asking, quietly)
  local left = redis.call('pttl', lock)
  local isFree = left == -2
  for _ = 1, many do
    local head = redis.call('lindex', queue, 0)
    if not head or head == asking then
      return head
    end
    local aliveUntil, text = waiter(head)
    local time = deadline(head)
    if aliveUntil and aliveUntil > now then
      if isFree and not quietly and wake(head) == 0 then
        if aliveUntil > now + silence then
          aliveUntil = now + silence
          setWaiter(head, aliveUntil, text)
        end
        local next = redis.call('lindex', queue, 1)
        if next then
          wake(next) -- it will ask again when the head counts as dead
        end
      end
      if time ~= aliveUntil then
        setDeadline(head, aliveUntil)
      end
      return head
    elseif not aliveUntil and not isFree then
      -- Nobody is delayed by it yet.
      if time and time < now + math.max(left, 0) + lifetime then
        keepPlaces(left)
      end
      return head
    elseif not aliveUntil and (not time or time > now) then
      if not quietly and wake(head) == 0 and (not time or time > now + othersSilence) then
        setDeadline(head, now + othersSilence)
      end
      return head
    elseif not aliveUntil and isFirstChance(head) and wake(head) > 0 then
      -- It still listens. So it gets one more chance.
      setDeadline(head, now + lifetime)
      return head
    end
    leave(head)
  end
  return redis.call('lindex', queue, 0), true
end
