-- together.lua: does what several owners want of names that are likely to be free: first the releases, then the takes.
--   ARGV[1]  how many releases there are
--   KEYS     of a release: value; of a take: value, token
--   ARGV     of a release: owner; of a take: the value, ttl, floor
--   Answers a list: what release_free.lua or take_free.lua would, or an error, for each.
local call, releases, answers = redis.call, tonumber(ARGV[1]), {}
-- use exclusive.lua
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
  if gone[1] then call('DEL', unpack(gone)) end
end
local key, arg = releases + 1, releases + 2
for i = releases + 1, releases + (#KEYS - releases) / 2 do
  local ok, answer = pcall(take, KEYS[key], KEYS[key + 1], ARGV[arg], ARGV[arg + 1], ARGV[arg + 2])
  answers[i] = (ok or type(answer) == 'table') and answer or {err = 'ERR ' .. tostring(answer)}
  key, arg = key + 2, arg + 3
end
return answers
