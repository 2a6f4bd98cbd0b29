-- lasting.lua: is put in where another script says so. It tells for how long the key of a token is kept (ms): for RETENTION, and for as long as the token is
-- ahead of the clock of the server. Were the token of a clock that was ahead forgotten sooner, smaller ones would follow.
local function lasting(token)
  local time = redis.call('TIME')
  return string.format('%.0f', RETENTION + math.max(0, math.floor(math.min(token, MAX) / 1000) - time[1] * 1000 - math.floor(time[2] / 1000)))
end

