-- Sets how many permits there are, if the semaphore does not exist.
-- KEYS: the semaphore, its channel.
-- ARGV: how many permits, PUBLISH or SPUBLISH.
-- Returns 1 if it did not exist, else 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
local refused = cannotPublish(ARGV[2], KEYS[2])
if refused then return refused end
redis.call('set', KEYS[1], ARGV[1])
redis.call(ARGV[2], KEYS[2], ARGV[1])
return 1
