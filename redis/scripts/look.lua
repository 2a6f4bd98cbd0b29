-- look.lua: tells what is known of one name; of holders and waiters a part, so that nobody is kept waiting if they are many. It changes nothing, and
-- gives no owner away.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  how many shared holders and how many waiters to tell of at most,
--         the end of a lease (ms) behind which to begin with the shared holders, or - for none of them,
--         the place in the queue behind which to begin with the waiters, or - for none of them
--   Answers {now (ms), what is left of the lease (ms, -1 for ever, -2 not held), what is behind the owner in the value
--   (or false), 1 if the holder is of another kind, {end (ms), record} of shared holders, number of waiters, {place, record} of waiters}.
local call, most, TIED = redis.call, ARGV[1], 4000 -- more fields than that cannot be asked for at once
local now = call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)

-- behind is {score, record} of the members of a sorted set that come after a score, which is told by a function.
local function behind(key, after, kind, told)
  local members = call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  if #members == 2 * most then -- all that have the last score must be among them, for the next part begins behind it
    local last = members[#members]
    for i = #members - 1, 1, -2 do
      if members[i + 1] ~= last then break end
      members[i], members[i + 1] = nil, nil
    end
    for _, word in ipairs(call('ZRANGEBYSCORE', key, last, last, 'WITHSCORES', 'LIMIT', 0, TIED)) do table.insert(members, word) end
  end
  local list, fields = {}, {}
  for i = 1, #members, 2 do
    list[i] = told(members[i + 1])
    fields[(i + 1) / 2] = kind .. members[i]
  end
  for i, record in ipairs(fields[1] and call('HMGET', KEYS[5], unpack(fields)) or {}) do list[2 * i] = record or '' end
  return list
end

local value = call('GET', KEYS[1])
local detail, foreign, holders, waiters = false, 0, {}, {}
if value then
  local line = string.find(value, '\n', 1, true)
  if string.match(value, '^shared\n%d+$') then
    if ARGV[2] ~= '-' then
      local last, ends = call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2], call('PEXPIRETIME', KEYS[1])
      local by = last and ends >= 0 and ends - last or 0 -- see rebase in entry.lua
      holders = behind(KEYS[4], string.format('%.0f', math.max(now, tonumber(ARGV[2])) - by), 'h',
        function(ends) return string.format('%.0f', math.ceil(ends + by)) end)
    end
  elseif not string.find(value, '^[^\n]*\n%d+ %d+ %d+\n') then
    foreign = 1
  else
    detail = string.gsub(string.sub(value, line + 1), '\nq?$', '')
  end
end
-- Places are fractions where somebody has come back to the head.
if ARGV[3] ~= '-' then waiters = behind(KEYS[3], ARGV[3], 'w', function(place) return place end) end
return {now, call('PTTL', KEYS[1]), detail, foreign, holders, call('ZCARD', KEYS[3]), waiters}
