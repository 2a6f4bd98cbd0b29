-- permits.lua: begins each script of semaphores (RPermitExpirableSemaphore).
-- KEYS: the number of available permits, those that are held, what is known about their holders, and more.
-- ARGV: the client's clock in milliseconds, and more.
local available, held, holders = KEYS[1], KEYS[2], KEYS[3]
local endless = 922337203685477 -- the end of a lease that has none

-- Programs in Java compare with their own clocks, and any clock may be wrong. So a lease counts from the clock that is
-- ahead, the server's or the client's, and has ended when it has by both.
local time = redis.call('time')
local server, client = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[1])
local early, late = math.min(server, client), math.max(server, client)

local function text(number) return string.format('%.0f', number) end

-- readCount returns the number of available permits, or nothing if it is not set. If another program has written
-- something else there, it returns nothing and an error.
local function readCount()
  local count = redis.call('get', available)
  if count and not (string.match(count, '^-?%d+$') and #count <= 16) then
    return nil, redis.error_reply('DAMAGED the number of available permits is none')
  end
  return count
end

-- permit returns the id of one permit of an owner: 12 bytes for the owner, and 4 for the number.
local function permit(owner, i) return owner .. struct.pack('>I4', i) end

-- find returns the permits of an owner, what is known about it, and when its lease ends. It has no end if some of the
-- permits are gone, as a program in Java may have released one, or if the lease has ended already.
local function find(owner)
  local ids, ends = {}, nil
  local known = redis.call('hget', holders, owner)
  local weight = tonumber(string.match(known or '', '^%d+'))
  if weight and weight > 1000 then weight = nil end -- another program has written it
  for i = 1, weight or 1000 do
    local score = redis.call('zscore', held, permit(owner, i))
    if score then
      table.insert(ids, permit(owner, i))
      ends = math.min(ends or endless, tonumber(score))
    elseif not weight then
      break
    end
  end
  if ends and (ends <= early or weight and #ids < weight) then ends = nil end
  return ids, known, ends
end

-- keep makes the leases of permits last for a time from now, at least.
local function keep(ids, lease)
  local ends = late + lease
  for _, id in ipairs(ids) do
    local score = redis.call('zscore', held, id)
    if not score or tonumber(score) < ends then redis.call('zadd', held, text(ends), id) end
  end
  local whole = redis.call('pttl', available) -- a program in Java may have set one
  if whole > 0 then redis.call('pexpire', held, whole) end
  if redis.call('pttl', holders) < ends - server then redis.call('pexpire', holders, text(ends - server)) end
end

-- publish tells waiters how many permits are available. Programs in Java wake as many threads.
local function publish(command, channel, count)
  if count > 0 then redis.call(command, channel, text(count)) end
end

-- give makes permits available that nobody holds any more. If the number is gone, the next take sets it.
local function give(count, command, channel)
  local now = count
  if redis.call('exists', available) == 1 then
    now = redis.pcall('incrby', available, count)
    if type(now) == 'table' then now = count end -- another program has written something else there
  end
  publish(command, channel, now)
  return now
end
