-- data_read.lua: reads the data of a lock.
--   KEYS  data of one name
--   Answers {token, number, data}, each of which is false if nothing is stored.
return redis.call('HMGET', KEYS[1], 'token', 'number', 'value')
