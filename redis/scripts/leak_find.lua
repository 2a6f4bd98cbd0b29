-- leak_find.lua: reports the leak in one key of a name. It changes nothing, and reveals no owner.
--   KEYS  value, token, queue, holders, info of one name
--   ARGV  part: value, token, queue, holders or info;
--         for the queue also the place after which to begin, and how many places to check
--   Answers {} for no leak, or {sort, how many, mark}. For a lease {..., token, holder text} follow; the text is false
--   for another kind of holder. For waiters, the last place replaces the mark, or nothing if no place follows.
local floor, closed = '0', '1'

-- use lock.lua
-- use leak_checks.lua
return {leaks[ARGV[1]](ARGV[2], ARGV[3])}
