-- latching.lua: is put in where another script says so. It reads a latch: its generation, what is left, and who has set it; nothing if it is not set, and then an
-- error if somebody else has written something into it that is no latch.
local function read(key)
  local latch = redis.call('HMGET', key, 'generation', 'left', 'by')
  local generation, left = latch[1], latch[2]
  if not left then return nil end
  if not string.find(left, '^%d+$') or #left > 15 or not string.find(generation or '', '^%d+$') or tonumber(generation) > MAX then
    return nil, redis.error_reply('DAMAGED the latch has no count that is one')
  end
  return generation, tonumber(left), latch[3]
end
