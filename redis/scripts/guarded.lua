-- guarded.lua: stands before each script that may grant a lease in a Cluster. The last key is the marker of the slot (see guard.lua). Only if it says that
-- this server may grant there, the script goes on; and with the last argument "1", which says that it grants nothing.
if not (FLAGGED and ARGV[#ARGV] == '1') and string.sub(redis.call('GET', KEYS[#KEYS]) or '', 1, LENGTH) ~= OPEN then
  return {err = 'SHUT the slot is closed, or was elsewhere'}
end
KEYS[#KEYS] = nil
