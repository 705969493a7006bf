//! Registering commands with all that the server wants to know about them, and being called.

use super::api::api;
use super::arguments::{Declared, RawArgs, key_specs};
use super::ctx::Ctx;
use super::reply::Reply;
use super::string::{Str, argv_slice};
use redis_module::raw;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

/// What a command does when called.
pub(crate) trait Run {
    /// `arguments` are those behind the command's name. The server has checked the arity.
    fn run(ctx: Ctx<'_>, arguments: &[Str<'_>]) -> Reply;
}

/// The entry of a command as the server calls it.
#[derive(Clone, Copy)]
pub(crate) struct Handler(
    unsafe extern "C" fn(
        *mut raw::RedisModuleCtx,
        *mut *mut raw::RedisModuleString,
        c_int,
    ) -> c_int,
);

/// The entry that runs `C`.
pub(crate) const fn handler<C: Run>() -> Handler {
    Handler(on_call::<C>)
}

unsafe extern "C" fn on_call<C: Run>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: context and arguments are the server's and live for this call.
    let (ctx, argv) = unsafe { (Ctx::new(ctx), argv_slice(argv, argc)) };
    let arguments = argv.get(1..).unwrap_or(&[]);
    Reply::of(|| C::run(ctx, arguments)).send(ctx);
    raw::REDISMODULE_OK as c_int
}

/// Everything that the server knows about a command.
pub(crate) struct CommandSpec {
    /// Lower case, as the server lists it: the family, a dot and a word.
    pub(crate) name: &'static CStr,
    pub(crate) handler: Handler,
    /// The API's words: `write`, `deny-oom`, `fast`, ...
    pub(crate) flags: &'static CStr,
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    pub(crate) since: &'static CStr,
    pub(crate) args: Declared,
}

impl CommandSpec {
    /// The number of words, the name among them; negative: at least this many.
    fn arity(&self) -> c_int {
        let words = c_int::try_from(self.args.words_min()).unwrap_or(c_int::MAX).saturating_add(1);
        if self.args.may_be_more() { words.saturating_neg() } else { words }
    }

    /// The access categories: the family, and what the flags say.
    fn categories(&self) -> CString {
        let [name, flags] = [self.name, self.flags].map(CStr::to_string_lossy);
        let family = name.split('.').next().unwrap_or_default();
        let of_flags = flags.split(' ').filter_map(|flag| match flag {
            "readonly" => Some("read"),
            "write" | "fast" | "blocking" => Some(flag),
            _ => None,
        });
        let words: Vec<&str> = [family].into_iter().chain(of_flags).collect();
        CString::new(words.join(" ")).unwrap_or_default()
    }
}

static VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

/// Registers one command with its metadata. False when the server refuses.
pub(crate) fn register(ctx: Ctx<'_>, spec: &CommandSpec) -> bool {
    // SAFETY: called while the module loads; the server copies both texts. The keys are given by
    // the key specs below, hence three zeros.
    let created = unsafe {
        api!(RedisModule_CreateCommand(
            ctx.as_ptr(),
            spec.name.as_ptr(),
            Some(spec.handler.0),
            spec.flags.as_ptr(),
            0,
            0,
            0,
        ))
    };
    if created != raw::REDISMODULE_OK as c_int {
        return false;
    }
    // SAFETY: the context is live; null when there is no such command of ours.
    let command = unsafe { api!(RedisModule_GetCommand(ctx.as_ptr(), spec.name.as_ptr())) };
    if command.is_null() {
        return false;
    }
    let mut keys = key_specs(spec.args.args);
    let mut args = RawArgs::of(spec.args.args);
    let info = raw::RedisModuleCommandInfo {
        version: &VERSION,
        summary: spec.summary.as_ptr(),
        complexity: spec.complexity.as_ptr(),
        since: spec.since.as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: spec.arity(),
        key_specs: keys.as_mut_ptr(),
        args: args.args.as_mut_ptr(),
    };
    // SAFETY: the command is ours; `info`, its lists and the parts of arguments, each ended by
    // zeros, outlive the call, and the server copies them.
    let status = unsafe { api!(RedisModule_SetCommandInfo(command, &info)) };
    set_categories(command, &spec.categories());
    status == raw::REDISMODULE_OK as c_int
}

/// Puts the command into its access categories, on servers that have the function (7.2 on).
fn set_categories(command: *mut raw::RedisModuleCommand, categories: &CStr) {
    // SAFETY: the pointer is written before our load function runs and never again.
    if let Some(set) = unsafe { raw::RedisModule_SetCommandACLCategories } {
        // SAFETY: the command is ours and being registered. A category that the server could not
        // make leaves the command without it, as on older servers.
        unsafe { set(command, categories.as_ptr()) };
    }
}

/// Makes an access category, on servers that let a module do so.
///
/// A category outlives its module, so that it exists already is no failure.
pub(crate) fn add_category(ctx: Ctx<'_>, name: &CStr) {
    // SAFETY: the pointer is written before our load function runs and never again.
    if let Some(add) = unsafe { raw::RedisModule_AddACLCategory } {
        // SAFETY: called while the module loads, with a live context and a C string.
        unsafe { add(ctx.as_ptr(), name.as_ptr()) };
    }
}
