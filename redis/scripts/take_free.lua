-- take_free.lua: takes a lock exclusively if nobody holds it or waits for it. This is the common case, in as few steps as can be.
--   KEYS  value, token of one name
--   ARGV  owner and a line end, ttl (ms), floor (the client's clock, us), what stands behind the token in the value,
--         floor + tokens - 1 if that is another number
--   Answers the token: granted. 1: granted, with the floor as token. -1: held by somebody else. 0: ask with take.lua.
--
-- While somebody waits, a "q" stands behind the number in the token's key (see entry.lua). The key is made to last only once in a
-- PERIOD, which is a part of RETENTION: it costs as much as all the rest.
if not redis.call('SET', KEYS[1], ARGV[1] .. ARGV[3] .. ARGV[4], 'NX', 'PX', ARGV[2]) then
  local value = redis.call('GET', KEYS[1])
  return string.sub(value, 1, #ARGV[1]) == ARGV[1] and 0 or -1
end
local before = redis.pcall('SET', KEYS[2], ARGV[5] or ARGV[3], 'KEEPTTL', 'GET')
if type(before) == 'table' then -- the key is of another type
  redis.call('DEL', KEYS[1])
  return before
end
local last, floor = tonumber(before or 0), tonumber(ARGV[3])
if last and last < floor then
  if floor - floor % PERIOD > last then redis.call('PEXPIRE', KEYS[2], RETENTION) end
  return 1
end
local tokens = ARGV[5] and ARGV[5] - floor + 1 or 1
if not last or last + tokens > MAX then -- take.lua knows what to do
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[2], before, 'PX', RETENTION)
  return 0
end
redis.call('SET', KEYS[1], ARGV[1] .. string.format('%.0f', last + 1) .. ARGV[4], 'PX', ARGV[2])
redis.call('SET', KEYS[2], string.format('%.0f', last + tokens), 'PX', RETENTION)
return last + 1
