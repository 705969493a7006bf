//! The baselines of the benchmark, as a separate module.
//!
//! `BASELINE.NOOP voucher user orderid` measures a module command that does nothing.
//! `BASELINE.TRY voucher user orderid` is the simplest implementation of a try: every step uses
//! `RM_Call`, and its `!` option replicates each write. It has the keys, the order of checks and
//! the outcomes of the reference script. It must not be used for sales: a try that fails halfway
//! is not undone.
//! `BASELINE.TURNS` returns how long the main thread was busy at a time: see `turns`.

mod turns;

use std::ptr::null_mut;
use std::sync::LazyLock;

use redis_module::{
    CallOptions, CallOptionsBuilder, CallReply, CallResult, Context, RedisError, RedisResult,
    RedisString, RedisValue, redis_module,
};

const ACCEPTED: i64 = 0;
const SOLD_OUT: i64 = 1;
const ALREADY_BOUGHT: i64 = 2;

static READ: LazyLock<CallOptions> = LazyLock::new(|| CallOptionsBuilder::new().build());
static WRITE: LazyLock<CallOptions> =
    LazyLock::new(|| CallOptionsBuilder::new().replicate().build());

fn noop(_ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, _voucher, _user, _order_id] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    Ok(RedisValue::Integer(0))
}

fn try_to_buy(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, voucher, user, order_id] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let stock = key(b"seckill:stock:", voucher);
    let buyers = key(b"seckill:order:", voucher);
    if units_left(ctx, &stock)? <= 0 {
        return Ok(RedisValue::Integer(SOLD_OUT));
    }
    if integer(ctx, &READ, "SISMEMBER", &[&buyers, user])? == 1 {
        return Ok(RedisValue::Integer(ALREADY_BOUGHT));
    }
    integer(ctx, &WRITE, "INCRBY", &[&stock, &text(b"-1")])?;
    integer(ctx, &WRITE, "SADD", &[&buyers, user])?;
    append_order(ctx, voucher, user, order_id)?;
    Ok(RedisValue::Integer(ACCEPTED))
}

fn units_left(ctx: &Context, stock: &RedisString) -> Result<i64, RedisError> {
    let result: CallResult = ctx.call_ext("GET", &READ, &[stock]);
    let Ok(CallReply::String(reply)) = result else {
        return Err(RedisError::Str("ERR no stock"));
    };
    std::str::from_utf8(reply.as_bytes())
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or(RedisError::Str("ERR stock is not an integer"))
}

fn append_order(
    ctx: &Context,
    voucher: &RedisString,
    user: &RedisString,
    order_id: &RedisString,
) -> Result<(), RedisError> {
    let stream = text(b"stream.orders");
    let (any_id, user_field) = (text(b"*"), text(b"userId"));
    let (voucher_field, order_field) = (text(b"voucherId"), text(b"id"));
    let result: CallResult = ctx.call_ext(
        "XADD",
        &WRITE,
        &[&stream, &any_id, &user_field, user, &voucher_field, voucher, &order_field, order_id],
    );
    result.map(drop).map_err(|_| RedisError::Str("ERR no order was appended"))
}

/// The integer that a command replies; any other reply is an error.
fn integer(
    ctx: &Context,
    options: &CallOptions,
    command: &str,
    args: &[&RedisString],
) -> Result<i64, RedisError> {
    let result: CallResult = ctx.call_ext(command, options, args);
    match result {
        Ok(CallReply::I64(reply)) => Ok(reply.to_i64()),
        _ => Err(RedisError::Str("ERR a step did not answer an integer")),
    }
}

fn key(prefix: &[u8], voucher: &RedisString) -> RedisString {
    text(&[prefix, voucher.as_slice()].concat())
}

/// Not `RedisString::create`, which panics on a NUL byte.
fn text(bytes: &[u8]) -> RedisString {
    RedisString::create_from_slice(null_mut(), bytes)
}

redis_module! {
    name: "baseline",
    version: 1,
    allocator: (redis_module::alloc::RedisAlloc, redis_module::alloc::RedisAlloc),
    data_types: [],
    commands: [
        // The flags and the key of SECKILL.TRY, so that the server does the same checks before the
        // call.
        ["BASELINE.NOOP", noop, "write deny-oom fast", 1, 1, 1, ""],
        ["BASELINE.TRY", try_to_buy, "write deny-oom fast", 1, 1, 1, ""],
        ["BASELINE.TURNS", turns::command, "allow-loading fast", 0, 0, 0, ""],
    ],
}
