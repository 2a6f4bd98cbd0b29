-- Reads a read-write lock. It changes nothing.
-- Returns its holders one after the other: owner, "read" or "write", what is left of the lease, note or "". It returns
-- nothing if there is none.
if redis.call('type', lock).ok ~= 'hash' or redis.call('hexists', lock, 'mode') == 0 or isForeign() then
  return false
end
local holders = {}
local fields = redis.call('hgetall', lock)
for i = 1, #fields, 2 do
  local writer = string.match(fields[i], '^(.*):write$')
  local owner = writer or fields[i]
  local left = writer and redis.call('pttl', lock) or readerLeft(owner, fields[i + 1])
  if owner ~= 'mode' and (writer or left > 0) then
    for _, value in ipairs({owner, writer and 'write' or 'read', left, redis.call('hget', notes, owner) or ''}) do
      holders[#holders + 1] = value
    end
  end
end
return holders
