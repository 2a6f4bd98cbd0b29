-- join_queue.lua: the first part of take.lua. It handles the usual case under contention: another owner holds
-- exclusively, a queue has formed (the value ends with "q", see lock.lua), and this is the first request of its call.
-- The rest of take.lua would answer the same, in three times as many commands. Texts are not converted to numbers and
-- back, as that costs more than the commands.
local function joinQueue()
  local call, queue, info = redis.call, KEYS[3], KEYS[5]
  local value = call('GET', KEYS[1])
  if way == '' or place ~= owner or not value or string.byte(value, -1) ~= BYTE_Q then return nil end
  local holder = string.match(value, '^([^\n]*)\n%d+ %d+ %d+\n')
  if not holder or holder == owner then return nil end
  if call('HEXISTS', info, 'w' .. owner) == 1 then return nil end
  local waiting = call('ZCARD', queue)
  if waiting == 0 or maxWaiters ~= '0' and waiting >= tonumber(maxWaiters) then return nil end
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local moment = string.format('%d', now)
  local record = mode .. ' ' .. weight .. ' ' .. size .. ' ' .. ttl .. ' ' .. tokens .. ' ' .. moment .. ' ' .. moment
    .. ' ' .. way .. ' ' .. ticket .. ' ' .. process .. '\n' .. text
  call('HSET', info, 'w' .. owner, record)
  local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
  call('ZADD', queue, 'NX', string.find(last, '^%d+$') and string.format('%d', last + 1) or last + 1, owner)
  if call('PTTL', queue) < QUEUE_KEPT_FOR * 3 / 4 then -- each waiter polls more often, and then extends them in full
    call('PEXPIRE', queue, QUEUE_KEPT_FOR)
    call('PEXPIRE', info, QUEUE_KEPT_FOR)
  end
  return {0, now, call('PTTL', KEYS[1]), waiting, 0}
end
local joined = joinQueue()
if joined then return joined end
