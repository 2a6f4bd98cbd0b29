-- Begins the scripts of RReadWriteLock.
-- The hash of a lock has the field mode, "read" or "write", and one field for each holder: "<owner>" of a reader and
-- "<owner>:write" of a writer, with its hold count. The hash lasts as long as the longest lease. A reader also has one
-- key for each time that it holds, which lasts as long as that lease: "<prefix>:<owner>:rwlock_timeout:<number>".
-- Beside them, the hash of notes has "<last token> <public text>" for each holder of leasehold. A note without a holder
-- means nothing: a program in Java may have deleted the lock.
-- KEYS: the lock, the notes, and others.
-- ARGV: the prefix, and others.
local lock, notes, prefix = KEYS[1], KEYS[2], ARGV[1]

-- isForeign reports whether the key holds something else than a read-write lock.
local function isForeign()
  local mode = redis.call('hget', lock, 'mode')
  if not mode then
    return redis.call('exists', lock) == 1
  elseif mode ~= 'read' and mode ~= 'write' then
    return true
  end
  for _, field in ipairs(redis.call('hkeys', lock)) do
    if field ~= 'mode' and not isOwner((string.gsub(field, ':write$', ''))) then
      return true
    end
  end
  return redis.call('hlen', lock) == 1 -- nobody holds it
end

local function raise(key, lease)
  if redis.call('pttl', key) < lease then
    redis.call('pexpire', key, lease)
  end
end

local function readerKey(owner, number)
  return prefix .. ':' .. owner .. ':rwlock_timeout:' .. number
end

-- A thread holds a lock less often than this. What another program has stored must not keep the server busy.
local mostHolds = 1000

-- readerLeft returns what is left of a reader's lease, at most 0 if it has ended.
local function readerLeft(owner, count)
  local left = 0
  for number = 1, math.min(tonumber(count) or 0, mostHolds) do
    left = math.max(left, redis.call('pttl', readerKey(owner, number)))
  end
  return left
end

-- longestReader removes the readers whose leases have ended, and returns what is left of the longest lease of the
-- others, or 0 if there is none.
local function longestReader()
  local longest = 0
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    local owner, count = fields[i], fields[i + 1]
    if isOwner(owner) then
      local left = readerLeft(owner, count)
      if left <= 0 then
        redis.call('hdel', lock, owner)
        redis.call('hdel', notes, owner)
      end
      longest = math.max(longest, left)
    end
  end
  return longest
end

-- readersLeft returns how long a writer must wait for readers at most, or 0 if there is none. A reader in Java counts as
-- long as the lock lasts, as it does to writers in Java. Its own key may end before: the watchdog of Redisson 3.52.0
-- renews a single key of all that one client has.
local function readersLeft()
  for _, field in ipairs(redis.call('hkeys', lock)) do
    if field ~= 'mode' and redis.call('hexists', notes, field) == 0 then
      return redis.call('pttl', lock)
    end
  end
  return longestReader()
end

-- endHold ends the hold of an owner, or leaves the lock taken for keep milliseconds by keeper. It returns whether the
-- owner held.
local function endHold(owner, channel, publish, keep, keeper)
  local mode = redis.call('hget', lock, 'mode')
  local note = redis.call('hget', notes, owner)
  local isWriter = redis.call('hexists', lock, owner .. ':write') == 1
  local count = redis.call('hget', lock, owner)
  if not isWriter and not count then
    return false
  end
  local held = isWriter
  redis.call('hdel', notes, owner)
  if isWriter then
    redis.call('hdel', lock, owner .. ':write')
    if keep > 0 then
      redis.call('hset', lock, keeper .. ':write', 1)
      redis.call('pexpire', lock, keep)
    elseif count then
      mode = 'read' -- a thread in Java may read what it writes
      redis.call('hset', lock, 'mode', mode)
    end
  else
    held = readerLeft(owner, count) > 0
    redis.call('hdel', lock, owner)
    for number = 1, math.min(tonumber(count) or 0, mostHolds) do
      redis.call('del', readerKey(owner, number))
    end
    if keep > 0 and held then
      redis.call('hset', lock, keeper, 1)
      redis.call('set', readerKey(keeper, 1), 1, 'px', keep)
    end
  end
  if keep > 0 and held and note then
    redis.call('hset', notes, keeper, note)
    raise(notes, keep)
  end
  local longest = longestReader()
  if mode == 'read' and longest > 0 then
    redis.call('pexpire', lock, longest)
  elseif redis.call('hlen', lock) <= 1 then
    redis.call('del', lock, notes)
  end
  if isWriter then
    redis.call(publish, channel, '1')
  elseif keep > 0 or redis.call('exists', lock) == 0 then
    redis.call(publish, channel, '0')
  end
  return held
end
