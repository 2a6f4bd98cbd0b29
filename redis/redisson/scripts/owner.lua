-- Begins scripts that must tell a lock from what another program keeps in a hash.
-- isOwner reports whether a field looks like a holder: "<uuid>:<thread>".
local function isOwner(field)
  return string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$') ~= nil and string.find(field, ':') == 37
end
