-- Raises the mark, and runs a script of the user's, which finds its own keys and arguments in KEYS and ARGV.
--
-- KEYS[1], ARGV[1..2]  those of mark.lua
-- KEYS[2..]            the keys of the script
-- ARGV[3..]            its arguments
--
-- Answers {1, the answer of the script}, {0, mark} if the token is too old, or an error.
--
-- The script comes first, so that it sees none of the local names below. If it fails, the mark is put back first.
local function script(KEYS, ARGV)
-- the script
end
-- use mark.lua
local refused = fence()
if refused then return refused end
local fine, answer = pcall(script, {unpack(KEYS, 2)}, {unpack(ARGV, 3)})
keep()
if not fine then error(answer, 0) end
if type(answer) == 'table' and answer.err then return answer end
if answer == nil then answer = false end -- Redis answers nil for both, but nil would end the table
return {1, answer}
