-- renew.lua: extends the leases of exclusive holders. It never shortens a lease, and never revives one.
--   KEYS  the value key of each name
--   ARGV  owner and ttl (ms) of each
--   Answers one character for each: 1 renewed, w renewed, and somebody waits, 0 not held, s search the shared holders,
--   e the key has another type.
local answers, call, pcall, find, byte = {}, redis.call, redis.pcall, string.find, string.byte
for i, key in ipairs(KEYS) do
  local owner = ARGV[2 * i - 1]
  local value = pcall('GET', key)
  if type(value) == 'table' then
    answers[i] = 'e'
  elseif value and find(value, owner, 1, true) == 1 and byte(value, #owner + 1) == 10 then -- "\n"; makes no string
    if call('PEXPIRE', key, ARGV[2 * i], 'GT') == 0 and call('PTTL', key) < 0 then
      call('PEXPIRE', key, ARGV[2 * i]) -- somebody removed its expiry
    end
    answers[i] = byte(value, -1) == BYTE_Q and 'w' or '1'
  elseif value and string.sub(value, 1, 7) == 'shared\n' then
    answers[i] = 's'
  else
    answers[i] = '0'
  end
end
return table.concat(answers)
