-- data_set.lua: stores data under the name of a lock that the owner holds exclusively.
--   KEYS  value, data of one name
--   ARGV  owner, token, number, data
--   Answers 1 if it is stored, or the same lease has stored later data, 0 if the owner does not hold or another lease
--   has stored data since.
local value = redis.pcall('GET', KEYS[1])
if type(value) ~= 'string' or string.find(value, ARGV[1] .. '\n', 1, true) ~= 1 then return 0 end
local stored = redis.call('HMGET', KEYS[2], 'token', 'number')
local token, number = tonumber(ARGV[2]), tonumber(ARGV[3])
local storedToken, storedNumber = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
if not storedToken or not storedNumber then
  return redis.error_reply('DAMAGED the data has no token that is one')
end
if token < storedToken then return 0 end
-- The same is stored again when it is repeated, so that replicas confirm it, too.
if token > storedToken or number >= storedNumber then
  redis.call('HSET', KEYS[2], 'token', ARGV[2], 'number', ARGV[3], 'value', ARGV[4])
end
return 1
