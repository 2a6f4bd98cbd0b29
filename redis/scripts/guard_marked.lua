-- guard_marked.lua: writes into the record of a master of a Cluster which slots have a marker now. See guard_master.lua.
--   KEYS  the record
--   ARGV  slots
--   Answers 1, or 0 if the record is that of another master, or there is none.
local call = redis.call
local raw = call('GET', KEYS[1])
local before, marked, by = string.match(raw or '', '^(%S+ %d+ %d+ %S+ %S+) (%S+)( ?[^\n]*)$')
if not before or string.match(before, '^%S+') ~= IDENTITY then return 0 end
if #marked ~= 4096 or string.find(marked, '%X') then marked = string.rep('0', 4096) end
for _, slot in ipairs(ARGV) do
  local at, bit = math.floor(slot / 4) + 1, 2 ^ (slot % 4)
  local digit = tonumber(string.sub(marked, at, at), 16)
  if math.floor(digit / bit) % 2 == 0 then
    marked = string.sub(marked, 1, at - 1) .. string.format('%x', digit + bit) .. string.sub(marked, at + 1)
  end
end
local record = before .. ' ' .. marked .. by
if record ~= raw then
  call('DEL', KEYS[1]) -- see guard.lua
  call('SET', KEYS[1], record)
end
return 1
