-- Raises the mark.
--
-- KEYS, ARGV  those of mark.lua
--
-- Answers {1, 1}, {0, mark} if the token is too old, or an error.
-- use mark.lua
return fence() or {1, 1}
