-- Sets how many permits there are, if the semaphore does not exist.
-- KEYS: the semaphore, its channel.
-- ARGV: how many permits, PUBLISH or SPUBLISH, after how many milliseconds the semaphore is gone, or 0 for never.
-- Returns 1 if it did not exist, else 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
local refused = cannotPublish(ARGV[2], KEYS[2])
if refused then return refused end
if ARGV[3] == '0' then
  redis.call('set', KEYS[1], ARGV[1])
else
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[3])
end
redis.call(ARGV[2], KEYS[2], ARGV[1])
return 1
