-- guard.lua: says for how long no lease may be granted, because this server may lack some that another has granted.
--   KEYS  the marker: "<identity of the server that granted last> <when grants open (ms)> <the longest ttl (ms)>"
--   ARGV  identity of this server, the longest ttl (ms), for how long it has run (ms), 1 if it was a replica before, and whatever to only look
--   Answers for how many ms grants stay closed.
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local longest, up = tonumber(ARGV[2]), tonumber(ARGV[3])
local known, opens, before = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%d+) (%d+)$')
longest = math.max(longest, tonumber(before or 0))
if known == ARGV[1] then
  opens = opens + longest - before -- who has set it may not have known of leases that are this long
  opens = math.min(opens, now + longest) -- the clock may have been set back
elseif known or ARGV[4] == '1' or up < 0 then
  opens = now + longest
else
  opens = now + longest - up -- a server without a marker may have lost it, with all else, when it was started
end
if not ARGV[5] then
  redis.call('DEL', KEYS[1]) -- needs no memory: when the server has none left, what follows the first change is allowed
  redis.call('SET', KEYS[1], string.format('%s %.0f %.0f', ARGV[1], opens, longest))
end
return math.max(opens - now, 0)
