-- Counts, or removes, the waiters of a fair lock that is free, if all of them are dead: whoever locks it next would
-- remove them, but nobody may ever do so.
-- Returns how many they are; 0 if one may be alive.
local time = redis.call('time')
local early = math.min(now, time[1] * 1000 + math.floor(time[2] / 1000))
local function is(key, kind)
  local actual = redis.call('type', key).ok
  return actual == kind or actual == 'none'
end
if redis.call('exists', lock) == 1 or not is(queue, 'list') or not is(deadlines, 'zset') or not is(waiters, 'hash') then
  return 0
end
local all = redis.call('lrange', queue, 0, -1)
for _, owner in ipairs(all) do
  if (waiter(owner) or deadline(owner) or 0) >= early then
    return 0
  end
end
if remove then
  for _, owner in ipairs(all) do
    if wake(owner) > 0 then
      return 0 -- it still listens
    end
  end
  redis.call('del', queue, deadlines, waiters)
end
return #all
