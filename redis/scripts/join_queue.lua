-- join_queue.lua: the first part of take.lua. It handles the usual case under contention: another owner holds
-- exclusively, a queue has formed (the value ends with "q", see lock.lua), and this is the first request of its call.
-- The rest of take.lua would do the same, in four times as many commands. Texts are not converted to numbers and
-- back, as that costs more than the commands.
--
-- It does not look when the lease ends: only the head polls then, and this waiter first polls before FIRST_LEASE has
-- passed, whatever it is told (see pollPause). It extends the queue once in eight joins: each waiter that stays polls
-- more often than QUEUE_KEPT_FOR, and then extends it in full.
local function joinQueue()
  local call, queue, info = redis.call, KEYS[3], KEYS[5]
  local value = call('GET', KEYS[1])
  if way == '' or probes or place ~= owner or not value or string.byte(value, -1) ~= BYTE_Q then return nil end
  local holder = string.match(value, '^([^\n]*)\n%d+ %d+ %d+ ?%w*\n')
  if not holder or holder == owner then return nil end
  local waiting = call('ZCARD', queue)
  if waiting == 0 or maxWaiters ~= '0' and waiting >= tonumber(maxWaiters) then return nil end
  local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
  local score = string.find(last, '^%d+$') and string.format('%d', last + 1) or last + 1
  if call('ZADD', queue, 'NX', score, owner) == 0 then return nil end -- it has joined before
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local moment = string.format('%d', now)
  call('HSET', info, 'w' .. owner, mode .. ' ' .. weight .. ' ' .. size .. ' ' .. ttl .. ' ' .. tokens .. ' '
    .. moment .. ' ' .. moment .. ' ' .. way .. ' ' .. ticket .. ' ' .. process .. '\n' .. text)
  if math.floor(score) % 8 == 0 then
    call('PEXPIRE', queue, QUEUE_KEPT_FOR)
    call('PEXPIRE', info, QUEUE_KEPT_FOR)
  end
  return {0, now, -2, waiting, 0}
end
local joined = joinQueue()
if joined then return joined end
