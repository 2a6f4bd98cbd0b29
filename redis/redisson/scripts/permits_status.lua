-- Reads a semaphore.
-- KEYS: see permits.lua.
-- ARGV: clock.
-- Returns {clock, permits that are held with the ends of their leases, holders with what is known about them}, or
-- nothing if it is no semaphore.
local number = redis.call('type', available).ok
if redis.call('type', held).ok ~= 'zset' or number ~= 'string' and number ~= 'none' then return false end
local known = {}
if redis.call('type', holders).ok == 'hash' then known = redis.call('hgetall', holders) end
return {early, redis.call('zrangebyscore', held, '(' .. text(early), '+inf', 'withscores'), known}
