//! Registering commands with all that the server wants to know about them, and being called.

use super::api::api;
use super::ctx::Ctx;
use super::reply::Reply;
use super::string::{Str, argv_slice};
use redis_module::raw;
use std::ffi::{CStr, c_int};
use std::{mem, ptr};

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

/// What a command does with a key, as the server's access rules see it.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Reads it.
    Look,
    /// Reads and changes it.
    Update,
    /// Reads it and adds to it, and takes nothing away.
    InsertAfterLook,
    /// Adds to it unseen.
    Insert,
    /// Reads it and may delete it.
    Delete,
}

impl Access {
    fn flags(self) -> u32 {
        use raw::{
            REDISMODULE_CMD_KEY_ACCESS as ACCESS, REDISMODULE_CMD_KEY_DELETE as DELETE,
            REDISMODULE_CMD_KEY_INSERT as INSERT, REDISMODULE_CMD_KEY_RM as RM,
            REDISMODULE_CMD_KEY_RO as RO, REDISMODULE_CMD_KEY_RW as RW,
            REDISMODULE_CMD_KEY_UPDATE as UPDATE,
        };
        match self {
            Self::Look => RO | ACCESS,
            Self::Update => RW | ACCESS | UPDATE,
            Self::InsertAfterLook => RW | ACCESS | INSERT,
            Self::Insert => RW | INSERT,
            Self::Delete => RM | ACCESS | DELETE,
        }
    }
}

/// One key of a command.
pub(crate) struct KeySpec {
    /// Which argument it is; the first behind the command's name is 1.
    pub(crate) position: c_int,
    pub(crate) access: Access,
    pub(crate) notes: &'static CStr,
}

/// What an argument is.
#[derive(Clone, Copy)]
pub(crate) enum ArgKind {
    /// A key, by its index among the command's key specs.
    Key(c_int),
    String,
    Integer,
    /// An integer, or `TOKEN` in its place.
    IntegerOr(&'static CStr),
    /// An integer, or `TOKEN n` in its place, under the name given.
    IntegerOrNamed(&'static CStr, &'static CStr),
    /// An integer that may be left out, without a token before it.
    OptionalBareInteger,
    /// `TOKEN n`, may be left out.
    OptionalInteger(&'static CStr),
    /// `TOKEN text`, may be left out.
    OptionalString(&'static CStr),
    /// `TOKEN`, may be left out.
    OptionalToken(&'static CStr),
    /// `TOKEN text text ...`, may be left out; the texts under these names.
    OptionalStrings(&'static CStr, &'static [&'static CStr]),
    /// `TOKEN word`, may be left out; the word is one of these.
    OptionalChoice(&'static CStr, &'static [&'static CStr]),
    /// Several arguments together, one to this many times.
    Repeated(&'static [ArgSpec], usize),
}

/// One argument of a command, in the order of the call.
pub(crate) struct ArgSpec {
    pub(crate) name: &'static CStr,
    pub(crate) kind: ArgKind,
}

impl ArgSpec {
    /// What the argument consists of, or is one of; nothing for one word.
    fn parts(&self) -> Vec<raw::RedisModuleCommandArg> {
        let part = |name: &'static CStr, kind| Self { name, kind }.raw(&mut []);
        let token = |name: &'static CStr, token: &'static CStr| raw::RedisModuleCommandArg {
            flags: 0,
            ..part(name, ArgKind::OptionalToken(token))
        };
        let mut parts: Vec<_> = match self.kind {
            ArgKind::OptionalStrings(_, names) => {
                names.iter().map(|name| part(name, ArgKind::String)).collect()
            }
            ArgKind::OptionalChoice(_, words) => {
                words.iter().map(|word| token(word, word)).collect()
            }
            ArgKind::IntegerOr(word) => {
                vec![part(self.name, ArgKind::Integer), token(word, word)]
            }
            ArgKind::IntegerOrNamed(word, name) => {
                let named = raw::RedisModuleCommandArg {
                    flags: 0,
                    ..part(name, ArgKind::OptionalInteger(word))
                };
                vec![part(self.name, ArgKind::Integer), named]
            }
            ArgKind::Repeated(parts, _) => parts.iter().map(|part| part.raw(&mut [])).collect(),
            _ => return Vec::new(),
        };
        parts.push(zeroed_arg());
        parts
    }

    /// The argument as the API wants it. It points at `parts`, those of its kind.
    fn raw(&self, parts: &mut [raw::RedisModuleCommandArg]) -> raw::RedisModuleCommandArg {
        use raw::{
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK as BLOCK,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER as INTEGER,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY as KEY,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF as ONEOF,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN as PURE_TOKEN,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING as STRING,
        };
        let optional = raw::REDISMODULE_CMD_ARG_OPTIONAL as c_int;
        let repeated = raw::REDISMODULE_CMD_ARG_MULTIPLE as c_int;
        let (type_, key_spec_index, token, flags) = match self.kind {
            ArgKind::Key(index) => (KEY, index, ptr::null(), 0),
            ArgKind::String => (STRING, -1, ptr::null(), 0),
            ArgKind::Integer => (INTEGER, -1, ptr::null(), 0),
            ArgKind::IntegerOr(_) | ArgKind::IntegerOrNamed(..) => (ONEOF, -1, ptr::null(), 0),
            ArgKind::OptionalBareInteger => (INTEGER, -1, ptr::null(), optional),
            ArgKind::OptionalInteger(token) => (INTEGER, -1, token.as_ptr(), optional),
            ArgKind::OptionalString(token) => (STRING, -1, token.as_ptr(), optional),
            ArgKind::OptionalToken(token) => (PURE_TOKEN, -1, token.as_ptr(), optional),
            ArgKind::OptionalStrings(token, _) => (BLOCK, -1, token.as_ptr(), optional),
            ArgKind::OptionalChoice(token, _) => (ONEOF, -1, token.as_ptr(), optional),
            ArgKind::Repeated(..) => (BLOCK, -1, ptr::null(), repeated),
        };
        let subargs = if parts.is_empty() { ptr::null_mut() } else { parts.as_mut_ptr() };
        raw::RedisModuleCommandArg {
            name: self.name.as_ptr(),
            type_,
            key_spec_index,
            token,
            flags,
            subargs,
            ..zeroed_arg()
        }
    }
}

fn zeroed_arg() -> raw::RedisModuleCommandArg {
    // SAFETY: numbers and nullable pointers only: all zeros is a value, and ends the list.
    unsafe { mem::zeroed() }
}

fn key_spec(spec: &KeySpec) -> raw::RedisModuleCommandKeySpec {
    let mut raw = zeroed_key_spec();
    raw.notes = spec.notes.as_ptr();
    raw.flags = u64::from(spec.access.flags());
    raw.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    raw.bs.index.pos = spec.position;
    raw.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
    // One key: the last is the first, a step of one, no limit.
    raw.fk.range.lastkey = 0;
    raw.fk.range.keystep = 1;
    raw.fk.range.limit = 0;
    raw
}

fn zeroed_key_spec() -> raw::RedisModuleCommandKeySpec {
    // SAFETY: numbers, nullable pointers and unions of them: all zeros is a value, and ends the
    // list.
    unsafe { mem::zeroed() }
}

/// Everything that the server knows about a command.
pub(crate) struct CommandSpec {
    /// Lower case, as the server lists it.
    pub(crate) name: &'static CStr,
    pub(crate) handler: Handler,
    /// The API's words: `write`, `deny-oom`, `fast`, ...
    pub(crate) flags: &'static CStr,
    /// The access categories, where the server lets a module set them.
    pub(crate) categories: &'static CStr,
    /// The number of words, the name among them; negative: at least this many.
    pub(crate) arity: c_int,
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    pub(crate) since: &'static CStr,
    pub(crate) keys: &'static [KeySpec],
    pub(crate) args: &'static [ArgSpec],
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
    let mut keys: Vec<_> = spec.keys.iter().map(key_spec).collect();
    keys.push(zeroed_key_spec());
    let mut parts: Vec<_> = spec.args.iter().map(ArgSpec::parts).collect();
    let mut args: Vec<_> =
        spec.args.iter().zip(&mut parts).map(|(arg, parts)| arg.raw(parts)).collect();
    args.push(zeroed_arg());
    let info = raw::RedisModuleCommandInfo {
        version: &VERSION,
        summary: spec.summary.as_ptr(),
        complexity: spec.complexity.as_ptr(),
        since: spec.since.as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: spec.arity,
        key_specs: keys.as_mut_ptr(),
        args: args.as_mut_ptr(),
    };
    // SAFETY: the command is ours; `info`, its lists and the parts of arguments, each ended by
    // zeros, outlive the call, and the server copies them.
    let status = unsafe { api!(RedisModule_SetCommandInfo(command, &info)) };
    set_categories(command, spec.categories);
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
