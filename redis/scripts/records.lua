-- records.lua: tells the ids of records of removals, the newest first, and some of the records.
--   KEYS  ids by the time of the removal (sorted set), records by their ids (hash)
--   ARGV  how many ids to tell of at most; of how many of the last of these, which are forgotten first, to tell the records, too; more ids of records to tell
--   Answers {ids, records}: first those that were asked for by their ids. A record is empty where it is lost.
local call = redis.call
local ids = ARGV[1] ~= '0' and call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1) or {}
local wanted = {unpack(ARGV, 3)}
for i = math.max(#ids - ARGV[2] + 1, 1), #ids do table.insert(wanted, ids[i]) end
local records = wanted[1] and call('HMGET', KEYS[2], unpack(wanted)) or {}
for i, record in ipairs(records) do records[i] = record or '' end
return {ids, records}
