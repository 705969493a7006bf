-- What all functions of the library use.

-- A function stops at the first command that the user may not send, with everything before it done.
-- So its writes are all asked about before the first one.
local function lacks_right(commands)
    for _, command in ipairs(commands) do
        if not redis.acl_check_cmd(unpack(command)) then
            return redis.error_reply('NOPERM the user needs ' .. command[1] .. ' on ' .. command[2])
        end
    end
    return nil
end

-- The id of the sale in a voucher's rules, as text; nil where it has none.
local function sale_of(rules)
    local json = redis.pcall('GET', rules)
    local sale = type(json) == 'string' and json:match('"sale":(%d+)')
    return sale or nil
end

-- Is the voucher still the one that was opened? Somebody else may have dropped it and made another.
local function is_same_voucher(journal, rules)
    local opened = redis.call('HGET', journal, 'voucher-sale')
    return not opened or opened == sale_of(rules)
end

-- Whether units can be added: there is a stock, not closed, nor something that is not a number.
local function has_stock(key)
    local left = redis.pcall('GET', key)
    return type(left) == 'string' and left:match('^%d+$') ~= nil
end

