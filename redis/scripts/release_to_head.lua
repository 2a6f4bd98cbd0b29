-- release_to_head.lua: the first part of release.lua. It handles the usual case under contention: the owner holds
-- exclusively, and the head of the queue listens and wants the same. The rest of release.lua would do the same, in
-- twice as many commands, and notify the next head in any case. That is not needed if the next head has joined only a
-- moment ago: its first poll is still to come, and comes before FIRST_LEASE has passed since then (see pollPause).
-- Texts are not converted to numbers and back, as that costs more than the commands.
-- use tell_next.lua
local function releaseToHead()
  local call, queue, info = redis.call, KEYS[3], KEYS[5]
  local value = call('GET', KEYS[1])
  if not value or string.byte(value, -1) ~= BYTE_Q
    or string.find(value, owner, 1, true) ~= 1 or string.byte(value, #owner + 1) ~= 10 -- "\n"
    or keep ~= '0' or place ~= owner or keepsHead or closed == '1' then return false end
  local places = call('ZRANGE', queue, 0, 1)
  local head, second = places[1], places[2]
  if not head then return false end
  local records = call('HMGET', info, 'w' .. head, 'o' .. head, 'w' .. (second or ''), 'w' .. owner)
  local ttl, tokens, way, ticket, process, text = string.match(records[1] or '',
    '^x 1 %d+ (%d+) (%d+) %d+ %d+ ([PS]) (%d+[-%x]*) (%S+)\n(.*)$')
  if not ttl or records[2] or records[4] or tonumber(tokens) > MAX_TOKENS_PER_GRANT then return false end
  local joined, seen, secondWay, number, secondProcess
  if second then
    joined, seen, secondWay, number, secondProcess = string.match(records[3] or '',
      '^%a %d+ %d+ %d+ %d+ (%d+) (%d+) (%S) (%d+)[-%x]* (%S+)\n')
    if secondWay ~= way then return false end
  end
  local publish, channel = 'PUBLISH', PREFIX .. 'wake:'
  if way == 'S' then publish, channel = 'SPUBLISH', string.gsub(KEYS[2], 'token$', 'wake:') end
  local receivers = redis.pcall(publish, channel .. process, '?')
  if type(receivers) ~= 'number' or receivers == 0 then return false end
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)

  -- Assume that the token is the floor, as it mostly is: see take_steps.lua.
  local mark, tokenKey, token, smallest = second and 'q' or '', KEYS[2], floor, tonumber(floor)
  local lastText = tokens == '1' and token or string.format('%d', smallest + tokens - 1)
  local before = redis.pcall('SET', tokenKey, lastText .. mark, 'KEEPTTL', 'GET')
  if type(before) == 'table' then return false end
  local last = tonumber(string.match(before or '0', '^(%d+)q?$'))
  if not last or last >= smallest and last + tokens > MAX_TOKEN then
    call('SET', tokenKey, before, 'KEEPTTL')
    return false
  elseif last >= smallest then
    token, lastText = string.format('%d', last + 1), string.format('%d', last + tokens)
    call('SET', tokenKey, lastText .. mark, 'KEEPTTL')
  end
  if last == 0 or lastText - lastText % EXTENSION_PERIOD > last then
    call('PEXPIRE', tokenKey, string.format('%d', RETENTION + math.max(0, math.floor(lastText / 1000) - now)))
  end

  local moment = string.format('%d', now)
  -- The constant is replaced inside quotes, too: ttl stays a text.
  if ttl + 0 > FIRST_LEASE then ttl = 'FIRST_LEASE' end
  call('ZREM', queue, head)
  call('HDEL', info, 'w' .. head)
  value = head .. '\n' .. token .. ' ' .. tokens .. ' ' .. moment .. '000\n' .. text .. '\n' .. mark
  call('SET', KEYS[1], value, 'PX', ttl)
  redis.pcall(publish, channel .. process,
    'g ' .. ticket .. ' ' .. token .. ' ' .. tokens .. ' ' .. ttl .. ' ' .. moment .. (second and ' 1' or ' 0')
    .. (string.byte(process) == BYTE_TILDE and tellNext(records[3]) or ''))
  if second and (seen ~= joined or now < joined + 0 or now - joined > FIRST_LEASE) then
    redis.pcall(publish, channel .. secondProcess, 'h ' .. number .. ' ' .. ttl)
  end
  return true
end
if releaseToHead() then return 1 end
