-- exclusive.lua: is put in where another script says so. It tells whether a lock with this value is held exclusively by an owner, and nobody waits for it.
local function exclusive(value, owner)
  return value and string.sub(value, 1, #owner) == owner and string.byte(value, #owner + 1) == 10 and string.byte(value, -1) ~= 113 -- "\n", "q"
end
