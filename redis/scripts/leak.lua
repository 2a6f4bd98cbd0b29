-- leak.lua: tells what was left behind in one key of a name. It changes nothing, and gives no owner away.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  part: value, token, queue, holders or info; for the queue also the place behind which to begin, and how many places to look at
--   Answers {}: nothing. {sort, how many, mark}, and for a lease {..., token, text of the holder, or false for one of another kind}; for waiters the last place is
--   told instead of the mark, or nothing if there is none behind those that were looked at.
local FLOOR, CLOSED = '0', '1'

-- use entry.lua
-- use leaking.lua
return {leaks[ARGV[1]](ARGV[2], ARGV[3])}
