-- What goes before each of the scripts.

-- A script stops at the first command that the user may not send, with everything before it done.
-- So its writes are all asked about before the first one.
local function lacks_right(commands)
    for _, command in ipairs(commands) do
        if not redis.acl_check_cmd(unpack(command)) then
            return redis.error_reply('NOPERM the user needs ' .. command[1] .. ' on ' .. command[2])
        end
    end
    return nil
end

-- Whether units can be added: there is a stock, not closed, nor something that is no number.
local function has_stock(key)
    local left = redis.pcall('GET', key)
    return type(left) == 'string' and left:match('^%d+$') ~= nil
end

