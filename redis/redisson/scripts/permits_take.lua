-- Takes permits for an owner, if as many are available, and if then no more are held than the size.
-- KEYS: see permits.lua; the channel; a hash with the last token and the number of permits that takes have set; a hash
-- that says that the name is a latch.
-- ARGV: clock; owner, PUBLISH or SPUBLISH, lease in milliseconds, how many tokens, weight, size, public text about the
-- holder.
-- Returns {1, last token} or {0, what is left of the lease that ends first, or -1 if none ends}.
local channel, numbers = KEYS[4], KEYS[5]
local owner, command, lease, tokens = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local weight, size = tonumber(ARGV[6]), tonumber(ARGV[7])
local count = redis.call('get', available)
local set = redis.call('hmget', numbers, 'size', 'token')
local ours = tonumber(set[1]) or -1
local function isNumber(s) return string.match(s, '^-?%d+$') and #s <= 16 end
if count and not isNumber(count) or set[2] and not isNumber(set[2]) then
  return redis.error_reply('DAMAGED the number of available permits, or the last token, is none')
end
if redis.call('exists', KEYS[6]) == 1 then return redis.error_reply('WRONGTYPE the name is a latch') end
redis.call('zcard', held) -- fails before anything is changed if it is of another type
redis.call('hlen', holders)

local ended = redis.call('zremrangebyscore', held, '-inf', text(early))
count = tonumber(count)
if ended > 0 and count then count = give(ended, command, channel) end

local ids, known, ends = find(owner)
local last = tonumber(string.match(known or '', '^%d+ (%d+)'))
if ends and last and last >= tokens and last <= mostTokens then
  keep(ids, lease)
  return {1, last}
elseif #ids > 0 then -- some of its permits are gone, so the owner has lost them all
  redis.call('zrem', held, unpack(ids))
  if count then count = give(#ids, command, channel) end
end

local used = redis.call('zcard', held)
if not count then
  count = size - used
  redis.call('set', available, text(count))
  redis.call('hset', numbers, 'size', size)
  publish(command, channel, count)
elseif ours == count + used and size > ours then -- nobody else has set a number, and takes now want a larger one
  count = redis.call('incrby', available, size - ours)
  redis.call('hset', numbers, 'size', size)
  publish(command, channel, count)
elseif set[1] and ours ~= count + used then -- somebody else has set a number: it stays, even if it becomes this one
  redis.call('hdel', numbers, 'size')
end

if count < weight or used + weight > size then
  local first = redis.call('zrange', held, 0, 0, 'withscores')[2]
  if not first or tonumber(first) >= endless then return {0, -1} end
  return {0, tonumber(first) - early}
end

last = redis.call('hincrby', numbers, 'token', tokens)
local damaged = tokenError(last, tokens)
if damaged then return damaged end
redis.call('decrby', available, weight)
ids = {}
for i = 1, weight do ids[i] = permit(owner, i) end
redis.call('hset', holders, owner, weight .. ' ' .. text(last) .. ' ' .. ARGV[8])
keep(ids, lease)
if redis.call('hlen', holders) > redis.call('zcard', held) then -- a program in Java has removed permits that had ended
  for _, other in ipairs(redis.call('hkeys', holders)) do
    if not redis.call('zscore', held, permit(other, 1)) then redis.call('hdel', holders, other) end
  end
end
return {1, last}
