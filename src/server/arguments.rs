//! The declaration of a command's arguments, and how the server learns of it.

use redis_module::raw;
use std::ffi::{CStr, c_int};
use std::{mem, ptr};

/// What a command does with a key, as the server's access rules see it.
#[derive(Clone, Copy, Debug)]
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

/// The greatest value of an integer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Max {
    Is(i64),
    /// The present value of a setting.
    Set(fn() -> i64),
}

impl Max {
    pub(crate) fn now(self) -> i64 {
        match self {
            Self::Is(max) => max,
            Self::Set(max) => max(),
        }
    }
}

/// What an argument is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgKind {
    /// A key: what the command does with it, and a note for its docs.
    Key(Access, &'static CStr),
    Text,
    /// An integer of this range. The unit is empty, or has a space before it.
    Integer {
        min: i64,
        max: Max,
        unit: &'static str,
    },
    /// Nothing beside its word.
    Word,
    OneOf(&'static [ArgSpec]),
    /// Several arguments, one after the other.
    Block(&'static [ArgSpec]),
    /// The same, once to `max` times, before `then` more words.
    Repeated {
        parts: &'static [ArgSpec],
        max: usize,
        then: usize,
    },
}

/// The declaration of one argument: what it is read by, and documented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgSpec {
    pub(crate) name: &'static CStr,
    /// The word before it, in upper case if it may be in any.
    pub(crate) word: Option<&'static CStr>,
    pub(crate) is_optional: bool,
    pub(crate) kind: ArgKind,
}

impl ArgSpec {
    const fn new(name: &'static CStr, kind: ArgKind) -> Self {
        Self { name, word: None, is_optional: false, kind }
    }

    pub(crate) const fn key(name: &'static CStr, access: Access, note: &'static CStr) -> Self {
        Self::new(name, ArgKind::Key(access, note))
    }

    pub(crate) const fn text(name: &'static CStr) -> Self {
        Self::new(name, ArgKind::Text)
    }

    pub(crate) const fn integer(name: &'static CStr, min: i64, max: i64) -> Self {
        Self::new(name, ArgKind::Integer { min, max: Max::Is(max), unit: "" })
    }

    pub(crate) const fn ms(name: &'static CStr, min: i64, max: Max) -> Self {
        Self::new(name, ArgKind::Integer { min, max, unit: " ms" })
    }

    /// A word that says all.
    pub(crate) const fn word(name: &'static CStr, word: &'static CStr) -> Self {
        Self::new(name, ArgKind::Word).after(word)
    }

    pub(crate) const fn one_of(name: &'static CStr, ways: &'static [ArgSpec]) -> Self {
        Self::new(name, ArgKind::OneOf(ways))
    }

    pub(crate) const fn block(name: &'static CStr, parts: &'static [ArgSpec]) -> Self {
        Self::new(name, ArgKind::Block(parts))
    }

    pub(crate) const fn repeated(
        name: &'static CStr,
        parts: &'static [ArgSpec],
        max: usize,
    ) -> Self {
        Self::new(name, ArgKind::Repeated { parts, max, then: 0 })
    }

    /// The same before so many words.
    pub(crate) const fn before(self, then: usize) -> Self {
        match self.kind {
            ArgKind::Repeated { parts, max, .. } => {
                Self { kind: ArgKind::Repeated { parts, max, then }, ..self }
            }
            _ => self,
        }
    }

    /// The same behind a word.
    pub(crate) const fn after(self, word: &'static CStr) -> Self {
        Self { word: Some(word), ..self }
    }

    /// The same, and it may be left out.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// What errors call it.
    pub(crate) const fn label(&self) -> &'static str {
        match self.name.to_str() {
            Ok(name) => name,
            Err(_) => "",
        }
    }

    /// How many words it has at least.
    fn words_min(&self) -> usize {
        match self.kind {
            _ if self.is_optional => 0,
            ArgKind::Block(parts) | ArgKind::Repeated { parts, .. } => words_min(parts),
            _ => 1,
        }
    }

    /// The argument as the API wants it. It points at `parts`, those of its kind.
    fn raw(
        &self,
        key_spec_index: c_int,
        parts: &mut [raw::RedisModuleCommandArg],
    ) -> raw::RedisModuleCommandArg {
        use raw::{
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK as BLOCK,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER as INTEGER,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY as KEY,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF as ONEOF,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN as PURE_TOKEN,
            RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING as STRING,
        };
        let (type_, key_spec_index) = match self.kind {
            ArgKind::Key(..) => (KEY, key_spec_index),
            ArgKind::Text => (STRING, -1),
            ArgKind::Integer { .. } => (INTEGER, -1),
            ArgKind::Word => (PURE_TOKEN, -1),
            ArgKind::OneOf(_) => (ONEOF, -1),
            ArgKind::Block(_) | ArgKind::Repeated { .. } => (BLOCK, -1),
        };
        let optional = if self.is_optional { raw::REDISMODULE_CMD_ARG_OPTIONAL } else { 0 };
        let is_repeated = matches!(self.kind, ArgKind::Repeated { .. });
        let repeated = if is_repeated { raw::REDISMODULE_CMD_ARG_MULTIPLE } else { 0 };
        raw::RedisModuleCommandArg {
            name: self.name.as_ptr(),
            type_,
            key_spec_index,
            token: self.word.map_or(ptr::null(), CStr::as_ptr),
            flags: (optional | repeated) as c_int,
            subargs: if parts.is_empty() { ptr::null_mut() } else { parts.as_mut_ptr() },
            ..zeroed_arg()
        }
    }
}

fn words_min(args: &[ArgSpec]) -> usize {
    args.iter().map(ArgSpec::words_min).fold(0, usize::saturating_add)
}

/// The arguments of a command.
pub(crate) struct Declared {
    pub(crate) args: &'static [ArgSpec],
    /// How many words of options there are at least.
    option_words_min: usize,
}

impl Declared {
    pub(crate) const fn new(args: &'static [ArgSpec]) -> Self {
        Self { args, option_words_min: 0 }
    }

    /// The same with options of at least so many words.
    pub(crate) const fn with_options(self, option_words_min: usize) -> Self {
        Self { option_words_min, ..self }
    }

    /// How many words there are at least.
    pub(crate) fn words_min(&self) -> usize {
        words_min(self.args).saturating_add(self.option_words_min)
    }

    pub(super) fn may_be_more(&self) -> bool {
        let may_be_more =
            |arg: &ArgSpec| arg.is_optional || matches!(arg.kind, ArgKind::Repeated { .. });
        self.args.iter().any(may_be_more)
    }
}

/// Arguments as the API wants them, ended by zeros, with what they point at.
#[derive(Default)]
pub(super) struct RawArgs {
    pub(super) args: Vec<raw::RedisModuleCommandArg>,
    parts: Vec<Self>,
}

impl RawArgs {
    pub(super) fn of(specs: &[ArgSpec]) -> Self {
        let (mut all, mut keys) = (Self::default(), 0);
        for spec in specs {
            let mut parts = match spec.kind {
                ArgKind::OneOf(parts) | ArgKind::Block(parts) => Self::of(parts),
                ArgKind::Repeated { parts, .. } => Self::of(parts),
                _ => Self::default(),
            };
            all.args.push(spec.raw(keys, &mut parts.args));
            all.parts.push(parts);
            keys = keys.saturating_add(matches!(spec.kind, ArgKind::Key(..)).into());
        }
        all.args.push(zeroed_arg());
        all
    }
}

fn zeroed_arg() -> raw::RedisModuleCommandArg {
    // SAFETY: numbers and nullable pointers only: all zeros is a value, and ends the list.
    unsafe { mem::zeroed() }
}

/// The keys among arguments as the API wants them, ended by zeros.
pub(super) fn key_specs(args: &[ArgSpec]) -> Vec<raw::RedisModuleCommandKeySpec> {
    let keys = args.iter().enumerate().filter_map(key_spec);
    keys.chain([zeroed_key_spec()]).collect()
}

/// The key that an argument is, the `index`th behind the command's name, or that it begins with
/// each time.
fn key_spec((index, arg): (usize, &ArgSpec)) -> Option<raw::RedisModuleCommandKeySpec> {
    let (access, notes, step, then) = match arg.kind {
        ArgKind::Key(access, notes) => (access, notes, 1, None),
        ArgKind::Repeated { parts, then, .. } => match parts.first()?.kind {
            ArgKind::Key(access, notes) => (access, notes, parts.len(), Some(then)),
            _ => return None,
        },
        _ => return None,
    };
    let mut raw = zeroed_key_spec();
    raw.notes = notes.as_ptr();
    raw.flags = u64::from(access.flags());
    raw.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    raw.bs.index.pos = c_int::try_from(index).ok()?.checked_add(1)?;
    raw.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
    // One key: the last is the first. Several: the last is counted from the end, and begins the
    // last part. No limit.
    let from_end = then.map_or(0, |then| then.saturating_add(step));
    raw.fk.range.lastkey = c_int::try_from(from_end).ok()?.checked_neg()?;
    raw.fk.range.keystep = c_int::try_from(step).ok()?;
    raw.fk.range.limit = 0;
    Some(raw)
}

fn zeroed_key_spec() -> raw::RedisModuleCommandKeySpec {
    // SAFETY: numbers, nullable pointers and unions of them: all zeros is a value, and ends the
    // list.
    unsafe { mem::zeroed() }
}
