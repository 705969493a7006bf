#!lua name=seckill
--
-- The part of the seckill module for servers that load no modules: unmanaged vouchers, and locks
-- whose acquirers do not wait in line. Replies, errors, keys and the order of the checks are the
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
    payment = true, kept = true, waited = true,
}
local PAIRS_MAX = 1024
-- How long a fence key outlives the lease.
local FENCE_OUTLIVES_MS = 86400000

local WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
local STOCK_NOT_INTEGER = 'ERR stock is not an integer or out of range'
local SAME_KEYS = 'ERR the keys of a voucher must all be different'
local GENERATED_ID = 'ERR orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here'

local function fail(text)
    return redis.error_reply(text)
end

-- The module's error for a command that the server refused before anything was written.
local function refused(reply)
    if string.find(reply.err, '^WRONGTYPE') then
        return fail(WRONGTYPE)
    end
    if string.find(reply.err, 'XADD must be greater', 1, true)
        or string.find(reply.err, 'exhausted the last possible ID', 1, true) then
        return fail('ERR the order stream has used up its ids')
    end
    return reply
end

-- The reply of a command; nil and the error if the command is refused.
local function ask(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then
        return nil, refused(reply)
    end
    return reply
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

local function argument_error(name, max, unit)
    return fail('ERR ' .. name .. ' must be 1 to ' .. max .. (unit or ''))
end

-- An argument from 1 to max, as digits.
local function positive(text, max)
    local digits, minus = integer(text or '')
    if not digits or minus or digits == '0' or not at_least(max, digits) then
        return nil
    end
    return digits
end

-- Redis stops a function at the first command that the user may not send, and keeps what earlier
-- commands wrote. So the rights to all commands are checked first.
local function lacks_right(commands)
    for _, command in ipairs(commands) do
        if not redis.acl_check_cmd(unpack(command)) then
            return fail('NOPERM the user needs ' .. command[1] .. ' on the key to run this function')
        end
    end
    return nil
end

-- Runs all commands, or none and returns an error. The entry of a stream, if there is one, is
-- appended first, because no other write can be refused.
local function write_all(commands, entry)
    local bad = lacks_right(commands) or (entry and lacks_right({entry}))
    if bad then
        return bad
    end
    if entry then
        local _, refusal = ask(unpack(entry))
        if refusal then
            return refusal
        end
    end
    for _, command in ipairs(commands) do
        redis.call(unpack(command))
    end
    return nil
end

-- The error of the first argument that is too long; nil when there is none.
local function too_long(args, names)
    for position, name in ipairs(names) do
        if #args[position] > ID_LEN_MAX then
            return fail('ERR ' .. name .. ' must be at most ' .. ID_LEN_MAX .. ' bytes long')
        end
    end
    return nil
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

local UNLIMITED = 'unlimited'

-- How many units a stock has, as digits, or UNLIMITED; or nil and the error. `missing` is the
-- answer to a missing stock, if the call has the option MISSING.
local function available(stock, missing)
    local left, bad = ask('GET', stock)
    if bad then
        return nil, bad
    end
    if not left then
        if missing == 'SOLD-OUT' or (not missing and MISSING_STOCK_IS_SOLD_OUT) then
            return '0'
        end
        return nil, fail('NOVOUCHER no stock key for this voucher')
    end
    local digits, minus = integer(left)
    if not digits then
        return nil, fail(STOCK_NOT_INTEGER)
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
        return 'must not use units, deadline, reason, was, sale, ref, payment, kept or waited'
    elseif any(names, function(name) return string.sub(name, 1, 3) == 'dlq' end) then
        return 'must not begin with dlq, as the fields of dead letters do'
    end
    return nil
end

-- How to read each option after `voucher user orderid`: its value and how many arguments it took,
-- or nil and an error.
local TRY_OPTIONS = {
    UNITS = function(args, at)
        if not args[at] then
            return nil, fail('ERR UNITS needs n')
        end
        local units = positive(args[at], INTEGER_MAX)
        if not units then
            return nil, argument_error('units', INTEGER_MAX)
        end
        return units, 1
    end,
    FIELDS = function(args, at)
        local names = {args[at], args[at + 1], args[at + 2]}
        if #names < 3 then
            return nil, fail('ERR FIELDS needs user-field voucher-field id-field')
        end
        local bad = bad_fields(names)
        if bad then
            return nil, fail('ERR FIELDS ' .. bad)
        end
        return names, 3
    end,
    MISSING = function(args, at)
        local answer = string.upper(args[at] or '')
        if answer ~= 'ERROR' and answer ~= 'SOLD-OUT' then
            return nil, fail('ERR MISSING needs error|sold-out')
        end
        return answer, 1
    end,
}

-- The options by name, or nil and an error.
local function try_options(args)
    local options = {}
    local at = 4
    while args[at] do
        local name = string.upper(args[at])
        if not TRY_OPTIONS[name] or options[name] then
            return nil, fail('ERR syntax error')
        end
        local value, took = TRY_OPTIONS[name](args, at + 1)
        if not value then
            return nil, took
        end
        options[name] = value
        at = at + 1 + took
    end
    return options
end

-- keys: stock buyers [orders]. args: voucher user orderid [UNITS n] [FIELDS user voucher orderid]
-- [MISSING error|sold-out]. Without the key orders, no order is appended.
local function try(keys, args)
    local stock, buyers, orders = keys[1], keys[2], keys[3]
    local voucher, user, id = args[1], args[2], args[3]
    local options, wrong = try_options(args)
    if not options then
        return wrong
    end
    local units = options.UNITS or '1'
    if id == '*' then
        return fail(GENERATED_ID)
    end
    if have_equals(keys) then
        return fail(SAME_KEYS)
    end

    local left, bad = available(stock, options.MISSING)
    if bad then
        return bad
    end
    if left ~= UNLIMITED and not at_least(left, units) then
        return 1
    end

    local has_bought
    has_bought, bad = ask('SISMEMBER', buyers, user)
    if bad then
        return bad
    end
    if has_bought == 1 then
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
    return write_all(writes, orders and {'XADD', orders, '*', unpack(fields)}) or 0
end

-- The users and the order ids that follow the voucher; or nil and the error.
local function pairs_of(args)
    if #args % 2 == 0 then
        return nil, fail("ERR wrong number of arguments for 'seckill_mtry' function")
    end
    if #args > 1 + 2 * PAIRS_MAX then
        return nil, fail('ERR at most ' .. PAIRS_MAX .. ' pairs of user and orderid are allowed')
    end
    local users, ids = {}, {}
    for place = 2, #args, 2 do
        if args[place + 1] == '*' then
            return nil, fail(GENERATED_ID)
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
    if not users then
        return ids
    end
    if have_equals(keys) then
        return fail(SAME_KEYS)
    end
    local left, bad = available(stock)
    if bad then
        return bad
    end
    local is_unlimited = left == UNLIMITED
    local answers = {}
    for number, user in ipairs(users) do
        answers[number] = too_long({user, ids[number]}, {'user', 'orderid'})
    end
    if left == '0' then
        for number = 1, #users do
            answers[number] = answers[number] or 1
        end
        return answers
    end
    local bought
    bought, bad = ask('SMISMEMBER', buyers, unpack(users))
    if bad then
        return bad
    end
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
                local rest = {{'SADD', buyers, user}, {'DECR', stock}, {'DECRBY', stock, '2'}}
                local lack = lacks_right(rest) or (entry and lacks_right({entry}))
                if lack then
                    return lack
                end
            end
            local added, refusal = true, nil
            if entry then
                added, refusal = ask(unpack(entry))
            end
            if not added and #accepted == 0 then
                return refusal
            end
            if not added then
                answers[number] = refusal
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
    if have_equals(keys) then
        return fail(SAME_KEYS)
    end
    local has_bought, bad = ask('SISMEMBER', buyers, user)
    if bad then
        return bad
    end
    if has_bought == 0 then
        return 0
    end
    local left
    left, bad = ask('GET', stock)
    if bad then
        return bad
    end
    if left and not integer(left) then
        return fail(STOCK_NOT_INTEGER)
    end
    if left == INTEGER_MAX then
        return fail('ERR stock or total would be out of range')
    end
    local fields = {USER, user, VOUCHER, voucher, ID, id, 'reason', 'cancelled'}
    local writes = {{'SREM', buyers, user}}
    -- A missing stock key is not created; the unit then returns nowhere.
    if left and not (MINUS_ONE_IS_UNLIMITED and left == '-1') then
        writes[2] = {'INCRBY', stock, '1'}
    end
    return write_all(writes, released and {'XADD', released, '*', unpack(fields)}) or 1
end

local function now_ms()
    local time = redis.call('TIME')
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function whole(number)
    return string.format('%.0f', number)
end

-- The last fencing token as text, or nil; an error, if there is one; the lock's token that it was
-- issued to, or nil. The fence key holds both, with a space between, or the number alone.
local function last_fence(fence)
    local value, bad = ask('GET', fence)
    if not value then
        return nil, bad
    end
    local space = string.find(value, ' ', 1, true)
    local last = space and string.sub(value, 1, space - 1) or value
    if not integer(last) then
        return nil, fail('ERR fencing token is not an integer or out of range')
    end
    return last, nil, space and string.sub(value, space + 1)
end

-- A fencing token as a number, or an error if Lua's number would not be exact.
local function same_fence(last)
    if at_least((integer(last)), EXACT_MAX) then
        return nil, fail('ERR the fencing tokens of this lock are used up')
    end
    return tonumber(last)
end

-- The next fencing token, or an error.
local function next_fence(last, now)
    if not last then
        return now
    end
    local number, bad = same_fence(last)
    if bad then
        return nil, bad
    end
    return math.max(number + 1, now)
end

-- Moves the end of a lock's lease, and the expiry of its fence key if it has one.
local function extend(lock, fence, ends_at)
    local last = fence and last_fence(fence)
    local writes = {{'PEXPIREAT', lock, whole(ends_at)}}
    -- A fence key always has a time to live. A key without one is another key of that name.
    if last and (ask('PTTL', fence) or 0) > 0 then
        writes[2] = {'PEXPIREAT', fence, whole(ends_at + FENCE_OUTLIVES_MS)}
    end
    return write_all(writes)
end

-- Writes the lock by `write`, and its fencing token with the token that it is issued to.
local function acquire_fenced(write, fence, number, token, ends_at)
    local outlives = whole(ends_at + FENCE_OUTLIVES_MS)
    local remember = {'SET', fence, whole(number) .. ' ' .. token, 'PXAT', outlives}
    return write_all({write, remember}) or number
end

-- Whether FENCE follows `token lease-ms`; or nil and an error. A function can't block, so BLOCK has
-- no effect, and it has no connection, so SESSION is refused, as in a script that calls the module.
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
                return nil, fail('ERR BLOCK needs ms')
            end
            if args[at] ~= '0' and not positive(args[at], WAIT_MS_MAX) then
                return nil, fail('ERR wait-ms must be 0 to ' .. WAIT_MS_MAX .. ' ms')
            end
        else
            return nil, fail('ERR syntax error')
        end
        at = at + 1
    end
    if with_session then
        return nil, fail('ERR SESSION needs a client connection, and a script has none')
    end
    return with_fence
end

-- Nobody holds a lock by it: clients that never set their token would all be the holder.
local NO_TOKEN = 'ERR token must not be empty'

-- keys: lock [fence]. args: token lease-ms [BLOCK ms] [FENCE].
local function acquire(keys, args)
    local lock, fence = keys[1], keys[2]
    local token, lease = args[1], positive(args[2], LEASE_MS_MAX)
    if token == '' then
        return fail(NO_TOKEN)
    end
    if not lease then
        return argument_error('lease-ms', LEASE_MS_MAX, ' ms')
    end
    local with_fence, bad = acquire_options(args)
    if bad then
        return bad
    end
    if with_fence and not fence then
        return fail('ERR FENCE needs a second key, the fence key')
    end
    if lock == fence then
        return fail('ERR lock and fence must be different keys')
    end

    local holder, wrong = ask('GET', lock)
    if wrong then
        return wrong
    end
    local now = now_ms()
    local ends_at = now + tonumber(lease)
    local last, owner, number
    if with_fence then
        last, bad, owner = last_fence(fence)
        if bad then
            return bad
        end
        -- A number is repeated only to the token that it was issued to.
        if holder == token and owner == token then
            number, bad = same_fence(last)
        else
            number, bad = next_fence(last, now)
        end
        if bad then
            return bad
        end
    end
    if holder == token then
        if with_fence then
            local write = {'PEXPIREAT', lock, whole(ends_at)}
            return acquire_fenced(write, fence, number, token, ends_at)
        end
        return extend(lock, fence, ends_at) or 1
    end
    if holder then
        return 0
    end
    local take = {'SET', lock, token, 'PXAT', whole(ends_at)}
    if with_fence then
        return acquire_fenced(take, fence, number, token, ends_at)
    end
    return write_all({take}) or 1
end

-- keys: lock. args: token.
local function release(keys, args)
    local holder, wrong = ask('GET', keys[1])
    if wrong then
        return wrong
    end
    if holder ~= args[1] then
        return 0
    end
    return write_all({{'DEL', keys[1]}}) or 1
end

-- keys: lock [fence]. args: token lease-ms.
local function renew(keys, args)
    local lease = positive(args[2], LEASE_MS_MAX)
    if args[1] == '' then
        return fail(NO_TOKEN)
    end
    if not lease then
        return argument_error('lease-ms', LEASE_MS_MAX, ' ms')
    end
    if keys[1] == keys[2] then
        return fail('ERR lock and fence must be different keys')
    end
    local holder, wrong = ask('GET', keys[1])
    if wrong then
        return wrong
    end
    if holder ~= args[1] then
        return 0
    end
    return extend(keys[1], keys[2], now_ms() + tonumber(lease)) or 1
end

-- keys: lock [fence]. Flat pairs on both protocols.
local function info(keys, args)
    local holder, wrong = ask('GET', keys[1])
    if wrong then
        return wrong
    end
    if not holder then
        return false
    end
    local ttl = redis.call('PTTL', keys[1])
    local last = keys[2] and last_fence(keys[2])
    local fence = false
    if last then
        -- A token that Lua's numbers can't hold exactly is returned as text.
        fence = at_least(EXACT_MAX, (integer(last))) and tonumber(last) or last
    end
    return {'token', holder, 'ttl', ttl >= 0 and ttl, 'fence', fence, 'waiters', 0}
end

local function is_within(count, bounds)
    return count >= bounds[1] and count <= bounds[2]
end

-- Registers a function that refuses other numbers of keys and arguments.
local function define(one)
    redis.register_function{
        function_name = one.name,
        flags = one.flags or {},
        callback = function(keys, args)
            if not is_within(#keys, one.keys) then
                return fail('ERR ' .. one.name .. ' takes ' .. one.takes)
            end
            if not is_within(#args, one.args) then
                return fail("ERR wrong number of arguments for '" .. one.name .. "' function")
            end
            local bad = too_long(args, one.names or {})
            if not bad and one.hands_on and string.sub(keys[1], -6) == ':fence' then
                bad = fail('ERR key must not end in :fence, where fencing tokens are kept')
            end
            return bad or one.run(keys, args)
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
