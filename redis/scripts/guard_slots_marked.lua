-- guard_slots_marked.lua: writes into the record of a master of a Cluster which slots have a marker. See
-- guard_slots.lua.
--   KEYS  the record
--   ARGV  a slot that has a marker now; or all that have one, one bit for each in 4096 hexadecimal digits
--   Answers 1, or 0 if there is no record of this master, or nobody has looked yet which slots have a marker.
local call = redis.call
local raw = call('GET', KEYS[1])
local before, marked, openedBy = string.match(raw or '', '^(%S+ %d+ %d+ %S+ %S+) (%S+)( ?[^\n]*)$')
if not before or string.match(before, '^%S+') ~= IDENTITY then return 0 end
if #marked ~= 4096 or string.find(marked, '%X') then marked = '-' end
local all = #ARGV[1] == 4096 and ARGV[1]
local function digit(text, at) return tonumber(string.sub(text, at, at), 16) end
if all and marked == '-' then
  marked = all
elseif all then
  local digits = {}
  for at = 1, 4096 do
    local a, b, both = digit(marked, at), digit(all, at), 0
    for i = 0, 3 do
      if math.floor(a / 2 ^ i) % 2 == 1 or math.floor(b / 2 ^ i) % 2 == 1 then both = both + 2 ^ i end
    end
    digits[at] = string.format('%x', both)
  end
  marked = table.concat(digits)
elseif marked == '-' then
  return 0
else
  local at, bit = math.floor(ARGV[1] / 4) + 1, 2 ^ (ARGV[1] % 4)
  if math.floor(digit(marked, at) / bit) % 2 == 0 then
    marked = string.sub(marked, 1, at - 1) .. string.format('%x', digit(marked, at) + bit) .. string.sub(marked, at + 1)
  end
end
local record = before .. ' ' .. marked .. openedBy
if record ~= raw then
  call('PEXPIRE', KEYS[1], LONGEST_TTL) -- see guard.lua
  call('SET', KEYS[1], record)
end
return 1
