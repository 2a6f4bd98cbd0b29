-- together.lua: does what several owners want of names that are likely to be free: first the releases, then the takes.
--   ARGV[1]  how many releases there are
--   KEYS     of a release: value; of a take: value, token
--   ARGV     of a release: owner; of a take: the value, ttl, floor
--   Answers a list: for each the number that release_free.lua or take_free.lua would, or the text of an error. (go-redis loses track of the answers to come
--   if it finds some kinds of errors in a list.)
local call, releases, answers = redis.call, tonumber(ARGV[1]), {}
-- use exclusive.lua
-- use lasting.lua
local function take(value, counter, text, ttl, least, most)
-- use taking.lua
end

if releases > 0 then
  local values, gone = call('MGET', unpack(KEYS, 1, releases)), {}
  for i = 1, releases do
    answers[i] = 0
    if exclusive(values[i], ARGV[i + 1]) then
      answers[i], gone[#gone + 1] = 1, KEYS[i]
    end
  end
  if gone[1] and call('DEL', unpack(gone)) < #gone then -- an owner is there twice: the second time it does not hold any more
    local seen = {}
    for i = 1, releases do
      if seen[KEYS[i]] then answers[i] = 0 end
      seen[KEYS[i]] = seen[KEYS[i]] or answers[i] == 1
    end
  end
end

local key, arg = releases + 1, releases + 2
for i = releases + 1, releases + (#KEYS - releases) / 2 do
  local ok, answer = pcall(take, KEYS[key], KEYS[key + 1], ARGV[arg], ARGV[arg + 1], ARGV[arg + 2])
  if type(answer) == 'table' then answer = answer.err end
  -- A replica refuses the first change, so nothing has been done. The client is to see that, and look for the master.
  if not ok and string.find(answer, '^READONLY ') then return {err = answer} end
  answers[i] = answer
  key, arg = key + 2, arg + 3
end
return answers
