-- take_free.lua: takes a lock that nobody holds or waits for.
--   KEYS  value, token of one name
--   ARGV  the value, ttl (ms), floor (the client's clock, us), which is also the token in the value, floor + tokens - 1 if that is another number
--   Answers the token: granted. 1: granted, with the floor as token. -1: held by somebody else without an end. -2 or less: for
--           another -2 - the answer (ms). 0: ask with take.lua.
local call, value, counter, text, ttl, least, most = redis.call, KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- use lasting.lua
-- use taking.lua
