-- What all scripts begin with: compare the token with the mark, and raise it.
--
-- KEYS[1]  the mark: a string, or a hash with the field
-- ARGV[1]  the token, 1 to 2^53 - 1: a number of Lua has it exactly
-- ARGV[2]  the field of the mark, or "" if it is a string
--
-- fence returns nil if the mark now is the token, and otherwise the answer of the script, which then changes nothing:
-- {0, mark} if the token is too old, or an error if the key holds no mark.
local mark, token, field = KEYS[1], ARGV[1], ARGV[2]
local function read()
  if field == '' then return redis.call('GET', mark) end
  return redis.call('HGET', mark, field)
end
local function fence()
  local have = read()
  if have then
    if not string.match(have, '^%d+$') or #have > 16 then
      return redis.error_reply('NOMARK the mark holds something else than a token: give the mark a key or field of its own')
    end
    if tonumber(have) > tonumber(token) then
      return {0, have}
    end
  end
  if field ~= '' then
    redis.call('HSET', mark, field, token)
  elseif have == token then
    redis.call('PERSIST', mark) -- no mark may end by itself
  else
    redis.call('SET', mark, token) -- this takes off an expiry, too
  end
end

-- keep puts back a mark that was deleted or overwritten, for example together with its hash.
local function keep()
  if read() == token then return end
  if field ~= '' then
    redis.call('HSET', mark, field, token)
  else
    redis.call('SET', mark, token)
  end
end
