-- Begins scripts that send a message after they have changed something.
-- cannotPublish returns an error reply if the user has no right to send a message on a channel. It comes before any
-- change, as a command that is refused in the middle of a script leaves those before it in effect.
local function cannotPublish(command, channel)
  if not redis.acl_check_cmd(command, channel, '') then
    return redis.error_reply('NOPERM this user has no right to ' .. command .. ' on the channel ' .. channel)
  end
end
