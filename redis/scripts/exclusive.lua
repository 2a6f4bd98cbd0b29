-- exclusive.lua: included by other scripts. It tells whether an owner holds the lock with this value exclusively, and
-- nobody waits for it.
local function exclusive(value, owner)
  return value and string.find(value, owner, 1, true) == 1 -- makes no string, unlike string.sub
    and string.byte(value, #owner + 1) == 10 and string.byte(value, -1) ~= 113 -- "\n", "q"
end
