-- removals_read.lua: returns the ids of removal records, the newest first, and some of the records.
--   KEYS  ids by the time of the removal (sorted set), records by their ids (hash)
--   ARGV  how many ids to return at most; for how many of the last of these, which are dropped first, to return the
--         records, too; ids of more records to return
--   Answers {ids, records}: first the records asked for by id. A record that is lost is empty.
local call = redis.call
local ids = ARGV[1] ~= '0' and call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1) or {}
local wanted = {unpack(ARGV, 3)}
for i = math.max(#ids - ARGV[2] + 1, 1), #ids do table.insert(wanted, ids[i]) end
local records = wanted[1] and call('HMGET', KEYS[2], unpack(wanted)) or {}
for i, record in ipairs(records) do records[i] = record or '' end
return {ids, records}
