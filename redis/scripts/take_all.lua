-- take_all.lua: takes several locks exclusively, all of them or none, if nobody else holds one of them or waits for it.
--   KEYS  value, token of each name
--   ARGV  owner and a line end, ttl (ms), tokens, text and a line end of each name; then floor (the client's clock, us), closed
--   Answers {token, tokens of each name}: granted, or extended if the owner held it already.
--   A number: refused, because of the name that comes as so-and-so-many-th.
--
-- It looks at all names before it changes anything: what a script has done before an error stays done. See entry.lua for what
-- stands in the keys, and take_free.lua for how long that of the token lasts.
local call, FLOOR, CLOSED = redis.call, ARGV[#ARGV - 1], ARGV[#ARGV]
-- use lasting.lua
local floor, answer, before = tonumber(FLOOR), {}, {}
for i = 1, #KEYS, 2 do
  local owner, n = ARGV[2 * i - 1], tonumber(ARGV[2 * i + 1])
  local value, last = call('GET', KEYS[i]), tonumber(string.match(call('GET', KEYS[i + 1]) or '0', '^%d+$')) -- nil while somebody waits
  if value and string.sub(value, 1, #owner) == owner then
    local token, tokens = string.match(value, '\n(%d+) (%d+) ')
    answer[i], answer[i + 1] = tonumber(token), tonumber(tokens)
  elseif value or not last or CLOSED == '1' then
    return (i + 1) / 2
  else
    answer[i], answer[i + 1], before[i] = math.max(last + 1, floor), n, last
    if answer[i] > MAX - n + 1 then error('SPENT') end
  end
end
for i = 1, #KEYS, 2 do
  local token, n, last = answer[i], answer[i + 1], before[i]
  if last then
    call('SET', KEYS[i], string.format('%s%.0f %d %s\n%s', ARGV[2 * i - 1], token, n, FLOOR, ARGV[2 * i + 2]), 'PX', ARGV[2 * i])
    local to = string.format('%.0f', token + n - 1)
    if token > floor or last == 0 or floor - floor % PERIOD > last then
      call('SET', KEYS[i + 1], to, 'PX', lasting(token))
    else
      call('SET', KEYS[i + 1], to, 'KEEPTTL')
    end
  else
    call('PEXPIRE', KEYS[i], ARGV[2 * i], 'GT')
  end
end
return answer
