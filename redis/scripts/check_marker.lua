-- check_marker.lua: precedes each script that may grant a lease in a Cluster. The last key is the marker of the slot
-- (see guard.lua). The script only goes on if the marker says that this server may grant there, or if the script takes
-- the argument closed, always its last one, and it is "1": then it grants nothing.
--   TAKES_CLOSED        whether the script takes that argument
--   OPEN_MARKER         how the marker of a slot begins that is open on this server; OPEN_MARKER_LENGTH long
local closed = TAKES_CLOSED and ARGV[#ARGV] == '1'
if not closed and string.sub(redis.call('GET', KEYS[#KEYS]) or '', 1, OPEN_MARKER_LENGTH) ~= OPEN_MARKER then
  return {err = 'CLOSED the slot is closed, or was elsewhere'}
end
KEYS[#KEYS] = nil
