-- status.lua: reports what is known of one name. It returns a part of the holders and waiters, so that many of them do
-- not hold up the server. It changes nothing, and reveals no owner.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  how many shared holders and how many waiters to report at most;
--         the end of a lease (ms) after which to begin with the shared holders, or - for none of them;
--         the score in the queue after which to begin with the waiters, or - for none of them
--   Answers {now (ms), what is left of the lease (ms, -1 for ever, -2 not held), the value without its owner or false,
--            1 for another kind of holder, {end (ms), record} of shared holders,
--            number of waiters, {score, record} of waiters}.
local call, limit, maxTied = redis.call, ARGV[1], 4000 -- maxTied: HMGET cannot take more fields than that
local now = call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)

-- readBehind returns {score, record} for the members of a sorted set after a score. formatScore formats the score.
local function readBehind(key, after, fieldPrefix, formatScore)
  local members = call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  if #members == 2 * limit then -- include all members with the last score, as the next part begins after it
    local last = members[#members]
    for i = #members - 1, 1, -2 do
      if members[i + 1] ~= last then break end
      members[i], members[i + 1] = nil, nil
    end
    local tied = call('ZRANGEBYSCORE', key, last, last, 'WITHSCORES', 'LIMIT', 0, maxTied)
    for _, word in ipairs(tied) do table.insert(members, word) end
  end
  local list, fields = {}, {}
  for i = 1, #members, 2 do
    list[i] = formatScore(members[i + 1])
    fields[(i + 1) / 2] = fieldPrefix .. members[i]
  end
  for i, record in ipairs(fields[1] and call('HMGET', KEYS[5], unpack(fields)) or {}) do list[2 * i] = record or '' end
  return list
end

local value = call('GET', KEYS[1])
local detail, isForeign, holders, waiters = false, 0, {}, {}
if value then
  local lineEnd = string.find(value, '\n', 1, true)
  if string.match(value, '^shared\n%d+$') then
    if ARGV[2] ~= '-' then
      local last, ends = call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2], call('PEXPIRETIME', KEYS[1])
      local shift = last and ends >= 0 and ends - last or 0 -- see rebase in lock.lua
      holders = readBehind(KEYS[4], string.format('%.0f', math.max(now, tonumber(ARGV[2])) - shift), 'h',
        function(ends) return string.format('%.0f', math.ceil(ends + shift)) end)
    end
  elseif not string.find(value, '^[^\n]*\n%d+ %d+ %d+ ?%w*\n') then
    isForeign = 1
  else
    detail = string.gsub(string.sub(value, lineEnd + 1), '\nq?$', '')
  end
end
-- A score is a fraction if somebody has come back to the head.
if ARGV[3] ~= '-' then waiters = readBehind(KEYS[3], ARGV[3], 'w', function(score) return score end) end
return {now, call('PTTL', KEYS[1]), detail, isForeign, holders, call('ZCARD', KEYS[3]), waiters}
