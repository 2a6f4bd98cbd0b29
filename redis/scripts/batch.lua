-- batch.lua: handles the requests of several owners for names that are likely to be free: first the releases,
-- then the takes, then the passes.
--   ARGV[1]  how many releases there are
--   ARGV[2]  how many takes there are
--   KEYS     of a release: value; of a take or pass: value, token
--   ARGV     of a release: owner; of a take: the value, ttl, floor; of a pass: the holder, and as for a take
--   Answers a list: for each request the number that release_free.lua, take_free.lua or pass.lua would answer, or the
--   text of an error. (go-redis loses track of the replies that follow if a list contains some kinds of errors.)
local call, releases, takes, answers = redis.call, tonumber(ARGV[1]), tonumber(ARGV[2]), {}
-- use exclusive.lua
-- use token_ttl.lua
local function take(valueKey, tokenKey, text, ttl, floorText, lastText)
-- use take_steps.lua
end
local function pass(valueKey, tokenKey, holder, text, ttl, floorText)
-- use pass_steps.lua
end

if releases > 0 then
  local values, released = call('MGET', unpack(KEYS, 1, releases)), {}
  for i = 1, releases do
    answers[i] = 0
    if exclusive(values[i], ARGV[i + 2]) then
      answers[i], released[#released + 1] = 1, KEYS[i]
    end
  end
  -- An owner is there twice, and does not hold any more the second time.
  if released[1] and call('DEL', unpack(released)) < #released then
    local seen = {}
    for i = 1, releases do
      if seen[KEYS[i]] then answers[i] = 0 end
      seen[KEYS[i]] = seen[KEYS[i]] or answers[i] == 1
    end
  end
end

local key, arg = releases + 1, releases + 3
for i = releases + 1, releases + (#KEYS - releases) / 2 do
  local isTake = i <= releases + takes
  local ok, answer = pcall(isTake and take or pass, KEYS[key], KEYS[key + 1], ARGV[arg], ARGV[arg + 1], ARGV[arg + 2],
    not isTake and ARGV[arg + 3] or nil)
  if type(answer) == 'table' then answer = answer.err end
  -- A replica refuses the first change, so nothing has been done. The client must see that, and look for the master.
  if not ok and string.find(answer, '^READONLY ') then return {err = answer} end
  answers[i] = answer
  key, arg = key + 2, arg + (isTake and 3 or 4)
end
return answers
