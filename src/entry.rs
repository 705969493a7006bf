//! Where the server comes in: loading and unloading.

use crate::background;
use crate::commands::{COMMANDS, warn_at_load};
use crate::config::{self, SETTINGS};
use crate::memory::Memory;
use crate::metrics;
use crate::server::{
    Ctx, FillInfo, InfoSection, Str, add_category, are_events_known, install_panic_hook, is_known,
    is_memory_aligned, may_unload, missing_api, register_command, register_info, remove_panic_hook,
};
use domain::info;
use std::ffi::CStr;

/// The version as one number: 0.1.0 is 100, 1.2.3 is 10203.
const VERSION: i32 = part(env!("CARGO_PKG_VERSION_MAJOR"), 10_000)
    .saturating_add(part(env!("CARGO_PKG_VERSION_MINOR"), 100))
    .saturating_add(part(env!("CARGO_PKG_VERSION_PATCH"), 1));

const fn part(text: &str, weight: i32) -> i32 {
    match i32::from_str_radix(text, 10) {
        Ok(part) => part.saturating_mul(weight),
        Err(_) => 0,
    }
}

/// The plain commands that we call or replicate, and those that the server puts around them.
const PLAIN_COMMANDS: [&CStr; 31] = [
    c"decr", c"decrby", c"del", c"exec", c"exists", c"hdel", c"hscan", c"hset", c"hsetnx",
    c"incrby", c"lpop", c"lpush", c"multi", c"pexpireat", c"sadd", c"scan", c"set", c"sismember",
    c"smismember", c"srem", c"sscan", c"unlink", c"xack", c"xadd", c"xdel", c"xinfo", c"xpending",
    c"zadd", c"zrank", c"zrem", c"zscan",
];

#[cfg(not(test))]
#[allow(unsafe_code)]
mod exports {
    use super::{VERSION, load, unload};
    use crate::server::{on_load, on_unload};
    use redis_module::alloc::RedisAlloc;
    use redis_module::raw::{RedisModuleCtx, RedisModuleString};
    use std::ffi::c_int;

    #[global_allocator]
    static ALLOCATOR: RedisAlloc = RedisAlloc;

    #[unsafe(no_mangle)]
    unsafe extern "C" fn RedisModule_OnLoad(
        ctx: *mut RedisModuleCtx,
        argv: *mut *mut RedisModuleString,
        argc: c_int,
    ) -> c_int {
        // SAFETY: the server calls it, as it does.
        unsafe { on_load(ctx, (argv, argc), (c"seckill", VERSION), load) }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn RedisModule_OnUnload(ctx: *mut RedisModuleCtx) -> c_int {
        // SAFETY: the server calls it, as it does.
        unsafe { on_unload(ctx, unload) }
    }
}

fn load(ctx: Ctx<'_>, args: &[Str<'_>]) -> bool {
    match prepare(ctx, args) {
        // From here on nothing can fail: Redis 7.0 goes on to call a module whose load was refused
        // after it subscribed to anything.
        Ok(()) => {
            background::begin(ctx);
            warn_at_load(ctx);
            true
        }
        Err(reason) => {
            ctx.warn(&format!("not loaded: {reason}"));
            remove_panic_hook();
            false
        }
    }
}

/// Registers everything but the subscriptions, or says in a sentence why the module can't work
/// here.
fn prepare(ctx: Ctx<'_>, args: &[Str<'_>]) -> Result<(), String> {
    if let Some(function) = missing_api() {
        return Err(format!(
            "this server lacks {function}; the module needs Redis 7.0, Valkey 7.2 or newer"
        ));
    }
    if !is_memory_aligned() {
        return Err(
            "this server aligns memory to 8 bytes only, and the module needs 16; build the \
                    server with jemalloc, or with USE_MALLOC_USABLE_SIZE defined"
                .to_owned(),
        );
    }
    if !are_events_known() {
        return Err("this server lacks a server event that the module needs".to_owned());
    }
    install_panic_hook();
    if let Some(command) = PLAIN_COMMANDS.iter().find(|command| !is_known(ctx, command)) {
        let command = command.to_string_lossy().to_uppercase();
        return Err(format!(
            "this server has no command {command}, which the module needs; it may have been \
             renamed"
        ));
    }
    ctx.set_module_options();
    metrics::reset();
    config::set_commands(&COMMANDS);
    for category in [c"seckill", c"lock"] {
        add_category(ctx, category);
    }
    for spec in COMMANDS {
        if !register_command(ctx, spec) {
            let name = spec.name.to_string_lossy();
            return Err(format!(
                "the server refused to register the command {name}; another module may have it"
            ));
        }
    }
    if !register_info::<ModuleInfo>(ctx) {
        return Err("the server refused to register the INFO section".to_owned());
    }
    register_settings(ctx, args)?;
    if !ctx.load_configs() {
        return Err("the server refused a seckill.* configuration".to_owned());
    }
    for setting in SETTINGS {
        let name = setting.name();
        setting.agrees().map_err(|reason| format!("{} {reason}", name.to_string_lossy()))?;
    }
    Ok(())
}

/// Registers the configurations, with `name value` pairs of the `loadmodule` line as defaults.
fn register_settings(ctx: Ctx<'_>, args: &[Str<'_>]) -> Result<(), String> {
    let mut given: Vec<(&[u8], &[u8])> = Vec::new();
    for pair in args.chunks(2) {
        let [name, value] = pair else {
            return Err("loadmodule arguments must be pairs of a name and a value".to_owned());
        };
        let name = name.bytes();
        let name = name.strip_prefix(b"seckill.").unwrap_or(name);
        let text = String::from_utf8_lossy(name);
        let is_known = SETTINGS.iter().any(|setting| setting.name().to_bytes() == name);
        if !is_known {
            return Err(format!("there is no configuration {}", text.escape_debug()));
        }
        if given.iter().any(|(other, _)| *other == name) {
            return Err(format!("the argument {text} is given twice"));
        }
        if !is_word(value.bytes()) {
            return Err(format!(
                "CONFIG REWRITE would write the argument {text} without its quotes; set it in a \
                 seckill.* line"
            ));
        }
        given.push((name, value.bytes()));
    }
    for setting in SETTINGS {
        let name = setting.name();
        let value = given.iter().find(|(other, _)| *other == name.to_bytes());
        setting
            .register(ctx, value.map(|(_, value)| *value))
            .map_err(|reason| format!("{} {reason}", name.to_string_lossy()))?;
    }
    Ok(())
}

/// Is this one word of a line in redis.conf without quotes? The server writes arguments so, and
/// would start from others with another configuration, or not at all.
fn is_word(value: &[u8]) -> bool {
    let needs_quotes =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'\x0b' | b'"' | b'\'');
    !value.is_empty() && !value.iter().any(needs_quotes)
}

struct ModuleInfo;

impl FillInfo for ModuleInfo {
    fn fill(section: &mut InfoSection) {
        for (field, counter) in metrics::FIELDS {
            section.field(field.name, counter.get());
        }
        let holds_open = Memory::current().map_or(0, |memory| memory.holds.open());
        section.field(info::HOLDS_OPEN.name, holds_open);
        for (field, text) in config::names().write() {
            section.text(field.name, &text);
        }
    }
}

/// Refused, but where the server itself undoes a load or exits.
fn unload(ctx: Ctx<'_>) -> bool {
    if !may_unload() {
        ctx.warn(
            "not unloaded: servers keep pointers to the commands of a module that was used; \
             restart the server without it, or fail over to one that does not load it",
        );
        return false;
    }
    Memory::end();
    remove_panic_hook();
    true
}
