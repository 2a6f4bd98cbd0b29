-- Ends the hold of an owner, or leaves the lock taken for a while and then free.
-- KEYS: ..., the channel.
-- ARGV: ..., owner, PUBLISH or SPUBLISH, for how many milliseconds to leave it taken, by which owner.
-- Returns 1 if the owner held it, else 0.
return endHold(ARGV[2], KEYS[3], ARGV[3], tonumber(ARGV[4]), ARGV[5]) and 1 or 0
