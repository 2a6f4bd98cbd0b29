-- Raises the mark, and runs one command on one key.
--
-- KEYS[1], ARGV[1..2]  those of mark.lua
-- KEYS[2]              the key, which is the first argument of the command
-- ARGV[3]              the command
-- ARGV[4..]            its other arguments
--
-- Answers {1, the answer of the command}, {0, mark} if the token is too old, or an error.
-- use mark.lua
local refused = fence()
if refused then return refused end
local answer = redis.call(ARGV[3], KEYS[2], unpack(ARGV, 4))
keep()
return {1, answer}
