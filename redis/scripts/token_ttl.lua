-- token_ttl.lua: included by other scripts. It returns for how long the key of a token is kept (ms): for RETENTION,
-- plus the time by which the token is ahead of the server's clock. If the token of a client whose clock was ahead were
-- forgotten sooner, smaller tokens would follow.
local function tokenTTL(token)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return string.format('%.0f', RETENTION + math.max(0, math.floor(math.min(token, MAX_TOKEN) / 1000) - now))
end

