-- latch.lua: included by other scripts. It reads a latch: its generation, its count, and which attempt set it. It
-- returns nothing if the latch is not set, followed by an error if another program wrote something else into it.
local function readLatch(key)
  local latch = redis.call('HMGET', key, 'generation', 'left', 'by')
  local generation, left = latch[1], latch[2]
  if not left then return nil end
  if not string.find(left, '^%d+$') or #left > 15
    or not string.find(generation or '', '^%d+$') or tonumber(generation) > MAX_TOKEN then
    return nil, redis.error_reply('DAMAGED the latch has no count that is one')
  end
  return generation, tonumber(left), latch[3]
end
