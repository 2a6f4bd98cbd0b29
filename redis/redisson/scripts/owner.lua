-- Begins scripts that must tell a lock from what another program keeps in a hash.
-- isOwner reports whether a field looks like a holder: "<uuid>:<thread>".
local function isOwner(field)
  return string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$') ~= nil and string.find(field, ':') == 37
end

-- isOfOthers reports whether a hash is no lock of any kind, as nobody holds it.
local function isOfOthers(lock)
  local mode = redis.call('hget', lock, 'mode')
  if mode ~= 'read' and mode ~= 'write' and redis.call('hlen', lock) > 3 then
    return true
  end
  for _, field in ipairs(redis.call('hkeys', lock)) do
    if isOwner((string.gsub(field, ':write$', ''))) then
      return false
    end
  end
  return true
end

local function refuseHash()
  return redis.error_reply('WRONGTYPE the hash at the key of the lock has no holder')
end

-- isHeldWith reports whether a key is an exclusive lock that somebody holds with a token, or "0" for none: in that case
-- its owner is given if it is known, else '': another one without a token may hold it by now.
local function isHeldWith(lock, token, owner)
  if (redis.call('hget', lock, 'leasehold:token') or '0') ~= token or redis.call('hlen', lock) > 3 then
    return false
  end
  if owner ~= '' and redis.call('hexists', lock, owner) == 0 then
    return false
  end
  for _, field in ipairs(redis.call('hkeys', lock)) do
    if isOwner(field) then
      return true
    end
  end
  return false -- it is no lock
end
