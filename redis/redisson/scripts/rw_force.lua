-- Takes a lock away from one of its holders.
-- KEYS: ..., the channel.
-- ARGV: ..., PUBLISH or SPUBLISH, the holder's last token, or 0 for all holders without one, such as programs in Java;
-- '' or which ones of those: their owners, with commas between them.
-- Returns 1 if there was such a holder, else 0.
if isForeign() then
  return 0
end
local refused = cannotPublish(ARGV[2], KEYS[3])
if refused then return refused end
local ended, only = 0, ',' .. ARGV[4] .. ','
for _, field in ipairs(redis.call('hkeys', lock)) do
  local owner = string.match(field, '^(.*):write$') or field
  local note = redis.call('hget', notes, owner)
  local isMeant = only == ',,' or string.find(only, ',' .. owner .. ',', 1, true)
  if field ~= 'mode' and string.match(note or '0', '^%d+') == ARGV[3] and isMeant and
      endHold(owner, KEYS[3], ARGV[2], 0) then
    ended = 1
  end
end
return ended
