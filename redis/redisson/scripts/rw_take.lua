-- Takes a read-write lock for an owner, if nobody excludes it. A writer is also let in if all readers are in Go and
-- their leases have ended, although the lock still exists.
-- KEYS: ..., the counter of tokens.
-- ARGV: ..., owner, 1 for a reader or 0 for a writer, lease in milliseconds, how many tokens, public text about the
-- holder.
-- Returns {1, last token} or {0, what is left of the leases of others, or -1 if one never ends}.
local counter = KEYS[3]
local owner, isReader, lease, tokens = ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local mode = redis.call('hget', lock, 'mode')

-- held answers the same request once more: it must not raise the hold count, as that would take another release.
local function held()
  local note = redis.call('hget', notes, owner)
  if not note then
    return redis.error_reply('DAMAGED the token of a holder has been deleted')
  end
  raise(lock, lease)
  raise(notes, lease)
  return {1, tonumber(string.match(note, '^%d+'))}
end

if mode and isForeign() then
  return refuseHash()
elseif not mode then
  if redis.call('exists', lock) == 1 then
    if isOfOthers(lock) then
      return refuseHash()
    end
    return {0, redis.call('pttl', lock)} -- a lock of another type
  end
elseif redis.call('hexists', lock, owner .. ':write') == 1 then
  return held()
elseif isReader then
  local count = redis.call('hget', lock, owner)
  if count and readerLeft(owner, count) > 0 then
    local answer = held()
    if not answer.err then
      raise(readerKey(owner, 1), lease)
    end
    return answer
  end
end
if mode == 'write' then
  return {0, redis.call('pttl', lock)}
elseif mode and not isReader then
  local left = readersLeft()
  if left > 0 then
    return {0, left}
  end
  redis.call('del', lock)
  mode = false
end

local last = redis.call('incrby', counter, tokens)
local damaged = tokenError(last, tokens)
if damaged then return damaged end
if isReader then -- first, as the right to write there may be missing
  redis.call('set', readerKey(owner, 1), 1, 'px', lease)
end
if not mode then
  redis.call('del', notes)
elseif redis.call('hlen', notes) >= redis.call('hlen', lock) then
  for _, other in ipairs(redis.call('hkeys', notes)) do
    if redis.call('hexists', lock, other) == 0 then
      redis.call('hdel', notes, other)
    end
  end
end
redis.call('hset', notes, owner, string.format('%.0f ', last) .. ARGV[6])
raise(notes, lease)
if not mode then
  redis.call('hset', lock, 'mode', isReader and 'read' or 'write')
end
if isReader then
  redis.call('hset', lock, owner, 1)
else
  redis.call('hset', lock, owner .. ':write', 1)
end
raise(lock, lease)
return {1, last}
