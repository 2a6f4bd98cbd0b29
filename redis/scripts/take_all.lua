-- take_all.lua: takes several locks exclusively, all of them or none, if nobody else holds or waits for any of them.
--   KEYS  value, token of each name
--   ARGV  for each name: owner and a newline, ttl (ms), tokens, text and a newline;
--         then floor (the client's clock, us), closed
--   Answers {token, tokens of each name} if they are granted, or extended where the owner holds already.
--   A number if it is refused: the position of the name that is not free, counted from 1.
--
-- It checks all names before it changes anything, as an error does not undo what a script has done. See lock.lua for
-- the contents of the keys, and take_steps.lua for the expiry of the token's key.
local call, floorText, closed = redis.call, ARGV[#ARGV - 1], ARGV[#ARGV]
-- use token_ttl.lua
local floor, answer, before = tonumber(floorText), {}, {}
for i = 1, #KEYS, 2 do
  local owner, n = ARGV[2 * i - 1], tonumber(ARGV[2 * i + 1])
  -- last is nil while somebody waits
  local value, last = call('GET', KEYS[i]), tonumber(string.match(call('GET', KEYS[i + 1]) or '0', '^%d+$'))
  if value and string.sub(value, 1, #owner) == owner then
    local token, tokens = string.match(value, '\n(%d+) (%d+) ')
    answer[i], answer[i + 1] = tonumber(token), tonumber(tokens)
  elseif value or not last or closed == '1' then
    return (i + 1) / 2
  else
    answer[i], answer[i + 1], before[i] = math.max(last + 1, floor), n, last
    if answer[i] > MAX_TOKEN - n + 1 then error('EXHAUSTED') end
  end
end
for i = 1, #KEYS, 2 do
  local token, n, last = answer[i], answer[i + 1], before[i]
  if last then
    local value = string.format('%s%.0f %d %s\n%s', ARGV[2 * i - 1], token, n, floorText, ARGV[2 * i + 2])
    call('SET', KEYS[i], value, 'PX', ARGV[2 * i])
    local to = string.format('%.0f', token + n - 1)
    if token > floor or last == 0 or floor - floor % EXTENSION_PERIOD > last then
      call('SET', KEYS[i + 1], to, 'PX', tokenTTL(token))
    else
      call('SET', KEYS[i + 1], to, 'KEEPTTL')
    end
  else
    call('PEXPIRE', KEYS[i], ARGV[2 * i], 'GT')
  end
end
return answer
