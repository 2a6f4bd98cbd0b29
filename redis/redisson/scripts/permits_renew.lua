-- Renews the lease of permits. It never shortens a lease, and never makes one again that has ended.
-- KEYS: see permits.lua.
-- ARGV: clock; owner, lease in milliseconds.
-- Returns 1 if the owner holds them, else 0.
local ids, _, ends = find(ARGV[2])
if not ends then return 0 end
keep(ids, tonumber(ARGV[3]))
return 1
