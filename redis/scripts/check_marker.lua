-- check_marker.lua: precedes each script that may grant a lease in a Cluster. The last key is the marker of the slot
-- (see guard.lua). The script only goes on if the marker says that this server may grant there, or if the last
-- argument is "1", which says that the script grants nothing.
if not (FLAGGED and ARGV[#ARGV] == '1') and string.sub(redis.call('GET', KEYS[#KEYS]) or '', 1, LENGTH) ~= OPEN then
  return {err = 'SHUT the slot is closed, or was elsewhere'}
end
KEYS[#KEYS] = nil
