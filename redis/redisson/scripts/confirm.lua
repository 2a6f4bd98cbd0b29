-- Writes something, and leaves nothing: since Redis 7.2, WAIT waits for what its own connection has written last, and
-- not for what others wrote before a script of this connection that had nothing to write.
-- KEYS: a key that does not exist.
redis.call('set', KEYS[1], '')
redis.call('del', KEYS[1])
