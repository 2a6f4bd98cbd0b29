-- Takes permits away from their holder.
-- KEYS: see permits.lua; the channel.
-- ARGV: clock; PUBLISH or SPUBLISH, the holder's last token, or 0 for one without, such as a program in Java; the id of
-- its permit.
-- Returns 1 if that holder held them, else 0, and an error if several without a token hold some.
local command, token = ARGV[2], ARGV[3]
local refused = cannotPublish(command, KEYS[4])
if refused then return refused end
local ids
if token == '0' then
  ids = {}
  for _, id in ipairs(redis.call('zrangebyscore', held, '(' .. text(early), '+inf')) do
    if redis.call('hexists', holders, string.sub(id, 1, 12)) == 0 then table.insert(ids, id) end
  end
  if #ids > 1 then return redis.error_reply('SEVERAL holders have no token') end
  if ids[1] ~= ARGV[4] then return 0 end
else
  local all = redis.call('hgetall', holders)
  for i = 1, #all, 2 do
    if string.match(all[i + 1], '^%d+ (%d+)') == token then
      local found, _, ends = find(all[i])
      if ends then ids = found end
      if ends then redis.call('hdel', holders, all[i]) end
    end
  end
end
if not ids or #ids == 0 then return 0 end
redis.call('zrem', held, unpack(ids))
give(#ids, command, KEYS[4])
return 1
