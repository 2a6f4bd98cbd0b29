-- leak_mark(lock) recognizes the holder of a lock without an end, and returns '' for any other key.
local function leak_mark(lock)
  if redis.call('type', lock).ok ~= 'hash' or redis.call('pttl', lock) ~= -1 then return '' end
  local fields = redis.call('hkeys', lock)
  table.sort(fields)
  return redis.sha1hex(table.concat(fields, '\0'))
end
