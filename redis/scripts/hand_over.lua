-- hand_over.lua: passes a lock from its holder to the head of the queue, which holds as another owner from then on:
-- one to which most nodes of redlock have passed it already. It handles the usual case only: the head listens, and is
-- the one that the holder was told of. So it has waited since before the first node passed the lock, and its token is
-- larger than all that anybody had seen before it asked. Otherwise the script changes nothing, and release.lua does the
-- rest.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  the holder, its place in the queue ("" for the owner), floor (which becomes the token), the new owner,
--         its lease (ms), the head ("<number of its ticket> <process>"),
--         a moment before the first node was asked (ms of this server's clock), how long ago that was at least when
--         the holder has sent this (ms), closed
--   Answers 1, or 0 if nothing was done.
local call, queue, info = redis.call, KEYS[3], KEYS[5]
local owner, place, token, newOwner, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- use tell_next.lua
-- use token_ttl.lua
local value = call('GET', KEYS[1])
if ARGV[9] == '1' or not value or string.byte(value, -1) ~= BYTE_Q
  or string.find(value, owner, 1, true) ~= 1 or string.byte(value, #owner + 1) ~= 10 then return 0 end -- "\n"
local places = call('ZRANGE', queue, 0, 1)
local head, second = places[1], places[2]
if not head then return 0 end
local records = call('HMGET', info, 'w' .. head, 'w' .. (second or ''))
local number, secret, process, text = string.match(records[1] or '',
  '^x 1 %d+ %d+ 1 %d+ %d+ P (%d+)([-%x]*) (~%x+)\n(.*)$')
if not number or number .. ' ' .. process ~= ARGV[6] then return 0 end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local age = now - ARGV[7]
if age < tonumber(ARGV[8]) or age > lease / 4 then return 0 end -- a clock was set, or the request is late
local channel = PREFIX .. 'wake:'
local receivers = redis.pcall('PUBLISH', channel .. process, '?')
if type(receivers) ~= 'number' or receivers == 0 then return 0 end

local mark, tokenKey = second and 'q' or '', KEYS[2]
local before = redis.pcall('SET', tokenKey, token .. mark, 'KEEPTTL', 'GET')
if type(before) == 'table' then return 0 end
local last = tonumber(string.match(before or '0', '^(%d+)q?$'))
if not last or last >= token + 0 then
  call('SET', tokenKey, before, 'KEEPTTL')
  return 0
end
if last == 0 or token - token % EXTENSION_PERIOD > last then call('PEXPIRE', tokenKey, tokenTTL(token + 0)) end
call('ZREM', queue, head)
call('HDEL', info, 'w' .. head, 'o' .. head, 'o' .. (place == '' and owner or place))
local moment = string.format('%d', now)
call('SET', KEYS[1], newOwner .. '\n' .. token .. ' 1 ' .. moment .. '000\n' .. text .. '\n' .. mark, 'PX', lease)
redis.pcall('PUBLISH', channel .. process, 'p ' .. number .. secret .. ' ' .. token .. ' 1 ' .. lease .. ' ' .. moment
  .. (second and ' 1 ' or ' 0 ') .. string.format('%d ', age) .. newOwner .. tellNext(records[2]))
-- As in release_to_head.lua.
local joined, seen, secondNumber, secondProcess = string.match(records[2] or '',
  '^%a %d+ %d+ %d+ %d+ (%d+) (%d+) P (%d+)[-%x]* (%S+)\n')
if joined and (seen ~= joined or now < joined + 0 or now - joined > FIRST_LEASE) then
  redis.pcall('PUBLISH', channel .. secondProcess, 'h ' .. secondNumber .. ' ' .. lease)
end
return 1
