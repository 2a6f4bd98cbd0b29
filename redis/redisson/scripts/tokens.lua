-- Begins scripts that give tokens.
local mostTokens = 9007199254740991 -- 2^53 - 1: the numbers of Lua are exact up to here

-- tokenError returns an error reply if the new value of a counter cannot be the last of so many tokens.
local function tokenError(last, tokens)
  if last > mostTokens then
    return redis.error_reply('EXHAUSTED the tokens of this name are used up')
  elseif last < tokens then
    return redis.error_reply('DAMAGED the counter of tokens is not positive')
  end
end
