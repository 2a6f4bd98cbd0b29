-- Refuses a key that holds what neither a lock has, of any kind, nor a semaphore or a latch.
-- KEYS: the key.
-- Returns 1 if there is nothing to refuse, else an error.
local kind = redis.call('type', KEYS[1]).ok
if kind == 'hash' then
  return isOfOthers(KEYS[1]) and refuseHash() or 1
elseif kind == 'string' and tonumber(redis.call('get', KEYS[1])) or kind == 'none' then
  return 1
end
return redis.error_reply('WRONGTYPE the key of the lock is a ' .. kind)
