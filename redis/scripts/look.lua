-- look.lua: tells what is known of one name. It changes nothing, and gives no owner away.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  1 to list the waiters
--   Answers {now (ms), what is left of the lease (ms, -1 for ever, -2 not held), what is behind the owner in the value
--   (or false), 1 if the holder is of another kind, {what is left, record} of shared holders, number of waiters, {record} of waiters}.
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local value = redis.call('GET', KEYS[1])
local detail, foreign, holders, waiters = false, 0, {}, {}
if value then
  local line = string.find(value, '\n', 1, true)
  if string.match(value, '^shared\n%d+$') then
    local ends = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. now, '+inf', 'WITHSCORES')
    for i = 1, #ends, 2 do
      holders[i] = ends[i + 1] - now
      holders[i + 1] = redis.call('HGET', KEYS[5], 'h' .. ends[i]) or ''
    end
  elseif not string.find(value, '^[^\n]*\n%d+ %d+ %d+\n') then
    foreign = 1
  else
    detail = string.gsub(string.sub(value, line + 1), '\nq?$', '')
  end
end
if ARGV[1] == '1' then
  for i, owner in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    waiters[i] = redis.call('HGET', KEYS[5], 'w' .. owner) or ''
  end
end
return {now, redis.call('PTTL', KEYS[1]), detail, foreign, holders, redis.call('ZCARD', KEYS[3]), waiters}
