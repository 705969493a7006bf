#!lua name=seckill
--
-- The part of the seckill module for servers that load no modules: unmanaged vouchers, and locks
-- whose acquirers do not wait in the queue. Replies, errors, keys and the order of the checks are the
-- module's; every key is declared. docs/functions.md says how to call it and what is missing.
--
--   redis-cli -x FUNCTION LOAD REPLACE < packaging/functions/seckill.lua
--   redis-cli FCALL seckill_try 3 seckill:stock:7 seckill:order:7 stream.orders 7 alice 1001
--
-- Numbers that may be large are kept as text: Lua's numbers are exact only up to 2^53.

-- The module's configurations. Edit them before loading.
local MISSING_STOCK_IS_SOLD_OUT = false -- seckill.missing-stock
local MINUS_ONE_IS_UNLIMITED = false -- seckill.unlimited-stock
local USER, VOUCHER, ID = 'userId', 'voucherId', 'id' -- seckill.order-fields
local LEASE_MS_MAX = '86400000' -- seckill.lock-lease-ms-max
local WAIT_MS_MAX = '3600000' -- seckill.lock-wait-ms-max

local INTEGER_MAX = '9223372036854775807'
local INTEGER_MIN_DIGITS = '9223372036854775808'
local EXACT_MAX = '9007199254740992'
local ID_LEN_MAX = 512 -- seckill.name-bytes-max
local FIELD_LEN_MAX = 1024
local OWN_FIELDS = {
    units = true, deadline = true, reason = true, was = true, sale = true, ref = true,
    payment = true, kept = true, waited = true, cart = true, paid = true, norestock = true,
    refunded = true, entry = true,
}
local PAIRS_MAX = 1024
-- How long a fence key outlives the lease.
local FENCE_OUTLIVES_MS = 86400000

local WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
local STOCK_NOT_INTEGER = 'ERR stock is not an integer or out of range'
local NOT_MANAGED = 'NOVOUCHER this voucher is not managed, see SECKILL.CREATE'
local NO_CARTS = 'ERR a cart needs managed vouchers, which this library does not have, see SECKILL.TRYALL'
local GENERATED_ID = 'ERR orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here'

-- Ends a function with an error.
local function fail(text)
    error(redis.error_reply(text))
end

-- The reply of a command. One that the server refuses ends the function, with the module's error:
-- nothing was written before it.
local function ask(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then
        return reply
    end
    if string.find(reply.err, '^WRONGTYPE') then
        fail(WRONGTYPE)
    end
    if string.find(reply.err, 'XADD must be greater', 1, true)
        or string.find(reply.err, 'exhausted the last possible ID', 1, true) then
        fail('ERR the order stream has used up its ids')
    end
    error(reply)
end

-- The error that a function has ended with, of which the pcall of Redis has the text alone.
local function caught(reply)
    return type(reply) == 'table' and reply or redis.error_reply(reply)
end

-- What a function returns; nil where it fails.
local function maybe(run, ...)
    local is_done, value = pcall(run, ...)
    return is_done and value or nil
end

-- The digits of an integer, and whether it has a minus; nil if INCRBY would refuse the text.
local function integer(text)
    if text == '0' then
        return '0', false
    end
    local minus, digits = string.match(text, '^(%-?)([1-9]%d*)$')
    if not digits then
        return nil
    end
    local max = minus == '-' and INTEGER_MIN_DIGITS or INTEGER_MAX
    if #digits > #max or (#digits == #max and digits > max) then
        return nil
    end
    return digits, minus == '-'
end

local function at_least(digits, others)
    if #digits ~= #others then
        return #digits > #others
    end
    return digits >= others
end

-- An argument from 1 to max, as digits; or from 0, if that is the least.
local function positive(text, name, max, unit, least)
    local digits, minus = integer(text or '')
    if not digits or minus or (digits == '0' and not least) or not at_least(max, digits) then
        fail('ERR ' .. name .. ' must be ' .. (least or 1) .. ' to ' .. max .. (unit or ''))
    end
    return digits
end

-- Redis stops a function at the first command that the user may not send, and keeps what earlier
-- commands wrote. So the rights to all commands are checked first.
local function check_rights(commands)
    for _, command in ipairs(commands) do
        if not redis.acl_check_cmd(unpack(command)) then
            fail('NOPERM the user needs ' .. command[1] .. ' on the key to run this function')
        end
    end
end

-- Runs all commands, or none. The entry of a stream, if there is one, is appended first, because no
-- other write can be refused.
local function write_all(commands, entry)
    check_rights(commands)
    if entry then
        check_rights({entry})
        ask(unpack(entry))
    end
    for _, command in ipairs(commands) do
        redis.call(unpack(command))
    end
end

local function check_lengths(args, names)
    for position, name in ipairs(names) do
        if #args[position] > ID_LEN_MAX then
            fail('ERR ' .. name .. ' must be at most ' .. ID_LEN_MAX .. ' bytes long')
        end
    end
end

local function have_equals(keys)
    for i = 1, #keys do
        for j = i + 1, #keys do
            if keys[i] == keys[j] then
                return true
            end
        end
    end
    return false
end

local function check_keys(keys)
    if have_equals(keys) then
        fail('ERR the keys of a voucher must all be different')
    end
end

local UNLIMITED = 'unlimited'

-- How many units a stock has, as digits, or UNLIMITED. `missing` is the answer to a missing stock,
-- if the call has the option MISSING.
local function available(stock, missing)
    local left = ask('GET', stock)
    if not left then
        if missing == 'SOLD-OUT' or (not missing and MISSING_STOCK_IS_SOLD_OUT) then
            return '0'
        end
        fail('NOVOUCHER no stock key for this voucher')
    end
    local digits, minus = integer(left)
    if not digits then
        fail(STOCK_NOT_INTEGER)
    end
    if MINUS_ONE_IS_UNLIMITED and left == '-1' then
        return UNLIMITED
    end
    return minus and '0' or digits
end

local function any(list, test)
    for _, item in ipairs(list) do
        if test(item) then
            return true
        end
    end
    return false
end

-- What is wrong with the names of the fields for user, voucher and order id; nil when nothing is.
local function bad_fields(names)
    if any(names, function(name) return name == '' end) then
        return 'must be three words that are not empty'
    elseif any(names, function(name) return #name > FIELD_LEN_MAX end) then
        return 'must be three words of at most ' .. FIELD_LEN_MAX .. ' bytes'
    elseif have_equals(names) then
        return 'must be three different words'
    elseif any(names, function(name) return OWN_FIELDS[name] end) then
        return 'must not use units, deadline, reason, was, sale, ref, payment, kept, waited, cart, ' ..
            'paid, norestock, refunded or entry'
    elseif any(names, function(name) return string.sub(name, 1, 3) == 'dlq' end) then
        return 'must not begin with dlq, as the fields of dead letters do'
    end
    return nil
end

-- How to read each option after `voucher user orderid`: its value and how many arguments it took.
local TRY_OPTIONS = {
    UNITS = function(args, at)
        if not args[at] then
            fail('ERR UNITS needs n')
        end
        return positive(args[at], 'units', INTEGER_MAX), 1
    end,
    FIELDS = function(args, at)
        local names = {args[at], args[at + 1], args[at + 2]}
        if #names < 3 then
            fail('ERR FIELDS needs user-field voucher-field id-field')
        end
        local bad = bad_fields(names)
        if bad then
            fail('ERR FIELDS ' .. bad)
        end
        return names, 3
    end,
    -- Only managed vouchers have one.
    LIMIT = function(args, at)
        if not args[at] then
            fail('ERR LIMIT needs n')
        end
        return positive(args[at], 'limit', INTEGER_MAX), 1
    end,
    MISSING = function(args, at)
        local answer = string.upper(args[at] or '')
        if answer ~= 'ERROR' and answer ~= 'SOLD-OUT' then
            fail('ERR MISSING needs error|sold-out')
        end
        return answer, 1
    end,
}

-- The options by name.
local function try_options(args)
    local options = {}
    local at = 4
    while args[at] do
        local name = string.upper(args[at])
        if not TRY_OPTIONS[name] or options[name] then
            fail('ERR syntax error, the options are UNITS, LIMIT, FIELDS, MISSING')
        end
        local took
        options[name], took = TRY_OPTIONS[name](args, at + 1)
        at = at + 1 + took
    end
    return options
end

-- keys: stock buyers [orders]. args: voucher user orderid [UNITS n] [FIELDS user voucher orderid]
-- [MISSING error|sold-out]. Without the key orders, no order is appended.
local function try(keys, args)
    local stock, buyers, orders = keys[1], keys[2], keys[3]
    local voucher, user, id = args[1], args[2], args[3]
    local options = try_options(args)
    local units = options.UNITS or '1'
    if id == '*' then
        fail(GENERATED_ID)
    end
    check_keys(keys)
    if options.LIMIT then
        fail(NOT_MANAGED)
    end

    local left = available(stock, options.MISSING)
    if left ~= UNLIMITED and not at_least(left, units) then
        return 1
    end
    if ask('SISMEMBER', buyers, user) == 1 then
        return 2
    end

    local writes = {{'SADD', buyers, user}}
    if left ~= UNLIMITED then
        writes[2] = units == '1' and {'DECR', stock} or {'DECRBY', stock, units}
    end
    local names = options.FIELDS or {USER, VOUCHER, ID}
    local fields = {names[1], user, names[2], voucher, names[3], id}
    if units ~= '1' then
        fields[7], fields[8] = 'units', units
    end
    write_all(writes, orders and {'XADD', orders, '*', unpack(fields)})
    return 0
end

-- The users and the order ids that follow the voucher.
local function pairs_of(args)
    if #args % 2 == 0 then
        fail("ERR wrong number of arguments for 'seckill_mtry' function")
    end
    if #args > 1 + 2 * PAIRS_MAX then
        fail('ERR at most ' .. PAIRS_MAX .. ' pairs of user and orderid are allowed')
    end
    local users, ids = {}, {}
    for place = 2, #args, 2 do
        if args[place + 1] == '*' then
            fail(GENERATED_ID)
        end
        users[#users + 1], ids[#ids + 1] = args[place], args[place + 1]
    end
    return users, ids
end

-- keys: stock buyers [orders]. args: voucher user orderid [user orderid ...]. The entries are
-- appended first, one by one, since the stream may run out of ids; then all accepted tries are
-- written together.
local function mtry(keys, args)
    local stock, buyers, orders = keys[1], keys[2], keys[3]
    local users, ids = pairs_of(args)
    check_keys(keys)
    local left = available(stock)
    local is_unlimited = left == UNLIMITED
    local answers = {}
    for number, user in ipairs(users) do
        local is_short, bad = pcall(check_lengths, {user, ids[number]}, {'user', 'orderid'})
        answers[number] = not is_short and caught(bad) or nil
    end
    if left == '0' then
        for number = 1, #users do
            answers[number] = answers[number] or 1
        end
        return answers
    end
    local bought = ask('SMISMEMBER', buyers, unpack(users))
    local accepted, seen = {}, {}
    for number, user in ipairs(users) do
        if answers[number] then
            -- Too long.
        elseif not is_unlimited and not at_least(left, tostring(#accepted + 1)) then
            answers[number] = 1
        elseif bought[number] == 1 or seen[user] then
            answers[number] = 2
        else
            local entry = orders
                and {'XADD', orders, '*', USER, user, VOUCHER, args[1], ID, ids[number]}
            if #accepted == 0 then
                check_rights({{'SADD', buyers, user}, {'DECR', stock}, {'DECRBY', stock, '2'}})
                check_rights({entry})
            end
            local is_added, refusal = true, nil
            if entry then
                is_added, refusal = pcall(ask, unpack(entry))
            end
            if not is_added and #accepted == 0 then
                error(refusal, 0)
            end
            if not is_added then
                answers[number] = caught(refusal)
            else
                answers[number] = 0
                seen[user] = true
                accepted[#accepted + 1] = user
            end
        end
    end
    if #accepted > 0 then
        redis.call('SADD', buyers, unpack(accepted))
        if not is_unlimited and #accepted == 1 then
            redis.call('DECR', stock)
        elseif not is_unlimited then
            redis.call('DECRBY', stock, tostring(#accepted))
        end
    end
    return answers
end

-- keys: stock buyers [released]. args: voucher user orderid.
local function cancel(keys, args)
    local stock, buyers, released = keys[1], keys[2], keys[3]
    local voucher, user, id = args[1], args[2], args[3]
    check_keys(keys)
    if ask('SISMEMBER', buyers, user) == 0 then
        return 0
    end
    local left = ask('GET', stock)
    if left and not integer(left) then
        fail(STOCK_NOT_INTEGER)
    end
    if left == INTEGER_MAX then
        fail('ERR stock or total would be out of range')
    end
    local fields = {USER, user, VOUCHER, voucher, ID, id, 'reason', 'cancelled'}
    local writes = {{'SREM', buyers, user}}
    -- A missing stock key is not created; the unit then returns nowhere.
    if left and not (MINUS_ONE_IS_UNLIMITED and left == '-1') then
        writes[2] = {'INCRBY', stock, '1'}
    end
    write_all(writes, released and {'XADD', released, '*', unpack(fields)})
    return 1
end

local function now_ms()
    local time = redis.call('TIME')
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function whole(number)
    return string.format('%.0f', number)
end

-- The last fencing token as text, or nil; the lock's token that it was issued to, or nil. The fence
-- key holds both, with a space between, or the number alone.
local function last_fence(fence)
    local value = ask('GET', fence)
    if not value then
        return nil
    end
    local space = string.find(value, ' ', 1, true)
    local last = space and string.sub(value, 1, space - 1) or value
    if not integer(last) then
        fail('ERR fencing token is not an integer or out of range')
    end
    return last, space and string.sub(value, space + 1)
end

-- A fencing token as a number, or an error if Lua's number would not be exact.
local function same_fence(last)
    if at_least((integer(last)), EXACT_MAX) then
        fail('ERR the fencing tokens of this lock are used up')
    end
    return tonumber(last)
end

local function next_fence(last, now)
    return last and math.max(same_fence(last) + 1, now) or now
end

-- Moves the end of a lock's lease, and the expiry of its fence key if it has one.
local function extend(lock, fence, ends_at)
    local last = fence and maybe(last_fence, fence)
    local writes = {{'PEXPIREAT', lock, whole(ends_at)}}
    -- A fence key always has a time to live. A key without one is another key of that name.
    if last and (maybe(ask, 'PTTL', fence) or 0) > 0 then
        writes[2] = {'PEXPIREAT', fence, whole(ends_at + FENCE_OUTLIVES_MS)}
    end
    write_all(writes)
    return 1
end

-- Writes the lock by `write`, and its fencing token with the token that it is issued to.
local function acquire_fenced(write, fence, number, token, ends_at)
    local outlives = whole(ends_at + FENCE_OUTLIVES_MS)
    local remember = {'SET', fence, whole(number) .. ' ' .. token, 'PXAT', outlives}
    write_all({write, remember})
    return number
end

-- Whether FENCE follows `token lease-ms`. A function can't block, so BLOCK has no effect, and it
-- has no connection, so SESSION is refused, as in a script that calls the module.
local function acquire_options(args)
    local with_fence, with_wait, with_session = false, false, false
    local at = 3
    while args[at] do
        local option = string.upper(args[at])
        if option == 'FENCE' and not with_fence then
            with_fence = true
        elseif option == 'SESSION' and not with_session then
            with_session = true
        elseif option == 'BLOCK' and not with_wait then
            with_wait = true
            at = at + 1
            if not args[at] then
                fail('ERR BLOCK needs ms')
            end
            positive(args[at], 'wait-ms', WAIT_MS_MAX, ' ms', 0)
        else
            fail('ERR syntax error, the options are BLOCK, FENCE, SESSION')
        end
        at = at + 1
    end
    if with_session then
        fail('ERR SESSION needs a client connection, and a script has none')
    end
    return with_fence
end

-- The lease of `token lease-ms`, as digits.
local function lease_of(args)
    -- Nobody holds a lock by it: clients that never set their token would all be the holder.
    if args[1] == '' then
        fail('ERR token must not be empty')
    end
    return positive(args[2], 'lease-ms', LEASE_MS_MAX, ' ms')
end

local function check_fence(keys)
    if keys[1] == keys[2] then
        fail('ERR lock and fence must be different keys')
    end
end

-- keys: lock [fence]. args: token lease-ms [BLOCK ms] [FENCE].
local function acquire(keys, args)
    local lock, fence = keys[1], keys[2]
    local token, lease = args[1], lease_of(args)
    local with_fence = acquire_options(args)
    if with_fence and not fence then
        fail('ERR FENCE needs a second key, the fence key')
    end
    check_fence(keys)

    local holder = ask('GET', lock)
    local now = now_ms()
    local ends_at = now + tonumber(lease)
    local number
    if with_fence then
        local last, owner = last_fence(fence)
        -- A number is repeated only to the token that it was issued to.
        local is_same = holder == token and owner == token
        number = is_same and same_fence(last) or next_fence(last, now)
    end
    if holder == token then
        if with_fence then
            local write = {'PEXPIREAT', lock, whole(ends_at)}
            return acquire_fenced(write, fence, number, token, ends_at)
        end
        return extend(lock, fence, ends_at)
    end
    if holder then
        return 0
    end
    local take = {'SET', lock, token, 'PXAT', whole(ends_at)}
    if with_fence then
        return acquire_fenced(take, fence, number, token, ends_at)
    end
    write_all({take})
    return 1
end

-- keys: lock. args: token.
local function release(keys, args)
    if ask('GET', keys[1]) ~= args[1] then
        return 0
    end
    write_all({{'DEL', keys[1]}})
    return 1
end

-- keys: lock [fence]. args: token lease-ms.
local function renew(keys, args)
    local lease = lease_of(args)
    check_fence(keys)
    if ask('GET', keys[1]) ~= args[1] then
        return 0
    end
    return extend(keys[1], keys[2], now_ms() + tonumber(lease))
end

-- keys: lock [fence]. Flat pairs on both protocols.
local function info(keys, args)
    local holder = ask('GET', keys[1])
    if not holder then
        return false
    end
    local ttl = redis.call('PTTL', keys[1])
    local last = keys[2] and maybe(last_fence, keys[2])
    local fence = false
    if last then
        -- A token that Lua's numbers can't hold exactly is returned as text.
        fence = at_least(EXACT_MAX, (integer(last))) and tonumber(last) or last
    end
    return {'token', holder, 'ttl', ttl >= 0 and ttl, 'fence', fence, 'waiters', 0}
end

-- Registers a function that refuses other numbers of keys and arguments.
local function define(one)
    local keys_min, keys_max = one.keys[1], one.keys[2]
    local args_min, args_max = one.args[1], one.args[2]
    local do_run, names = one.run, one.names or {}
    local function run(keys, args)
        if #keys < keys_min or #keys > keys_max then
            fail('ERR ' .. one.name .. ' takes ' .. one.takes)
        end
        if #args < args_min or #args > args_max then
            fail("ERR wrong number of arguments for '" .. one.name .. "' function")
        end
        check_lengths(args, names)
        if one.hands_on and string.sub(keys[1], -6) == ':fence' then
            fail('ERR key must not end in :fence, where fencing tokens are kept')
        end
        return do_run(keys, args)
    end
    redis.register_function{
        function_name = one.name,
        flags = one.flags or {},
        callback = function(keys, args)
            local is_done, reply = pcall(run, keys, args)
            if is_done then
                return reply
            end
            return caught(reply)
        end,
    }
end

-- While Redis loads a library, `math` and `ipairs` are missing.
local ANY = 1 / 0
local ORDER = {'voucher', 'user', 'orderid'}
local LOCK_AND_FENCE = 'the keys lock and, if there is one, fence'
-- Functions that release units or locks must work when memory is full: allow-oom.
define{
    name = 'seckill_try', run = try, keys = {2, 3}, args = {3, ANY}, names = ORDER,
    takes = 'the keys stock, buyers and, if there is one, orders',
}
define{
    name = 'seckill_mtry', run = mtry, keys = {2, 3}, args = {3, ANY}, names = {'voucher'},
    takes = 'the keys stock, buyers and, if there is one, orders',
}
define{
    name = 'seckill_tryall', run = function() fail(NO_CARTS) end, keys = {0, ANY}, args = {0, ANY},
    takes = 'any keys',
}
define{
    name = 'seckill_cancel', run = cancel, keys = {2, 3}, args = {3, 3}, flags = {'allow-oom'},
    takes = 'the keys stock, buyers and, if there is one, released', names = ORDER,
}
define{
    name = 'lock_acquire', run = acquire, keys = {1, 2}, args = {2, ANY}, takes = LOCK_AND_FENCE,
    names = {'token'}, hands_on = true,
}
define{
    name = 'lock_release', run = release, keys = {1, 1}, args = {1, 1}, flags = {'allow-oom'},
    takes = 'one key, the lock', names = {'token'}, hands_on = true,
}
define{
    name = 'lock_renew', run = renew, keys = {1, 2}, args = {2, 2}, flags = {'allow-oom'},
    takes = LOCK_AND_FENCE, names = {'token'}, hands_on = true,
}
define{
    name = 'lock_info', run = info, keys = {1, 2}, args = {0, 0}, flags = {'no-writes'},
    takes = LOCK_AND_FENCE,
}
