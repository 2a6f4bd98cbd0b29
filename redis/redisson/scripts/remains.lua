-- Recognizes what leasehold stores beside an object if it would never expire, or lets it expire.
-- KEYS: the key.
-- ARGV: in how many milliseconds.
-- Returns 1 if it would never expire, else 0.
if redis.call('type', KEYS[1]).ok ~= 'hash' or redis.call('pttl', KEYS[1]) ~= -1 then
  return 0
end
if ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return 1
