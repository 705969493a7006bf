//! Configurations: `CONFIG GET`, `CONFIG SET`, redis.conf and the arguments of `loadmodule`.

use super::api::api;
use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::panics::guarded;
use super::string::{OwnedStr, Str, borrow};
use redis_module::raw;
use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::ops::RangeInclusive;
use std::ptr;

const OK: c_int = raw::REDISMODULE_OK as c_int;
const ERR: c_int = raw::REDISMODULE_ERR as c_int;

/// The answer to CONFIG SET when a callback of ours panicked.
const BUG: &str = "a bug in the module stopped this, see the server's log";

/// Something that the server can register as one configuration of this module.
pub(crate) trait Setting: Sync {
    /// The name without the module's.
    fn name(&self) -> &'static CStr;

    /// Registers the setting. `given` is what the arguments of `loadmodule` say; it counts as the
    /// default, so that redis.conf and CONFIG SET win over it. The error says what is wrong.
    fn register(&'static self, ctx: Ctx<'_>, given: Option<&[u8]>) -> Result<(), String>;

    /// Asked when all settings of a redis.conf or a CONFIG SET are set: may this one have its
    /// value beside the others?
    fn agrees(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A setting whose value is any text that `check` accepts. Never holds a NUL byte.
pub(crate) struct Text {
    name: &'static CStr,
    default: &'static str,
    check: fn(&[u8]) -> Result<(), String>,
    changed: fn(),
    agrees: fn() -> Result<(), String>,
    value: MainThread<Option<OwnedStr>>,
}

impl Text {
    pub(crate) const fn new(
        name: &'static CStr,
        default: &'static str,
        check: fn(&[u8]) -> Result<(), String>,
        changed: fn(),
    ) -> Self {
        Self::among_others(name, default, check, changed, || Ok(()))
    }

    /// The same, with what [`Setting::agrees`] asks.
    pub(crate) const fn among_others(
        name: &'static CStr,
        default: &'static str,
        check: fn(&[u8]) -> Result<(), String>,
        changed: fn(),
        agrees: fn() -> Result<(), String>,
    ) -> Self {
        Self { name, default, check, changed, agrees, value: MainThread::new(None) }
    }

    /// Runs `read` on the value. Must not be used on a hot path: names are to be resolved once.
    pub(crate) fn with<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        self.value.with(|value| match value {
            Some(text) => read(text.as_str().bytes()),
            None => read(self.default.as_bytes()),
        })
    }

    fn accept(&self, value: Str<'_>) -> Result<(), String> {
        let bytes = value.bytes();
        if bytes.contains(&0) {
            return Err("must not contain a NUL byte".to_owned());
        }
        (self.check)(bytes)?;
        self.value.set(Some(OwnedStr::new(bytes)));
        (self.changed)();
        Ok(())
    }
}

impl Setting for Text {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn register(&'static self, ctx: Ctx<'_>, given: Option<&[u8]>) -> Result<(), String> {
        let default = match given {
            None => self.default.as_bytes(),
            Some(bytes) => {
                (self.check)(bytes)?;
                bytes
            }
        };
        let default = CString::new(default).map_err(|_| "must not contain a NUL byte")?;
        // SAFETY: called while the module loads; the server copies name and default, and the
        // private data is a static.
        let status = unsafe {
            api!(RedisModule_RegisterStringConfig(
                ctx.as_ptr(),
                self.name.as_ptr(),
                default.as_ptr(),
                raw::REDISMODULE_CONFIG_DEFAULT,
                Some(get_text),
                Some(set_text),
                Some(apply_text),
                ptr::from_ref(self).cast_mut().cast::<c_void>(),
            ))
        };
        registered(status)
    }

    fn agrees(&self) -> Result<(), String> {
        (self.agrees)()
    }
}

/// A setting whose value is one of a few words.
pub(crate) struct Choice {
    name: &'static CStr,
    words: &'static [&'static CStr],
    changed: fn(),
    agrees: fn() -> Result<(), String>,
    value: MainThread<c_int>,
}

impl Choice {
    /// The first of `words` is the default.
    pub(crate) const fn new(
        name: &'static CStr,
        words: &'static [&'static CStr],
        changed: fn(),
    ) -> Self {
        Self::among_others(name, words, changed, || Ok(()))
    }

    /// The same, with what [`Setting::agrees`] asks.
    pub(crate) const fn among_others(
        name: &'static CStr,
        words: &'static [&'static CStr],
        changed: fn(),
        agrees: fn() -> Result<(), String>,
    ) -> Self {
        Self { name, words, changed, agrees, value: MainThread::new(0) }
    }

    /// Which of the words it is, counted from 0.
    pub(crate) fn index(&self) -> i32 {
        self.value.get()
    }

    fn index_of(&self, word: &[u8]) -> Option<c_int> {
        let index = self.words.iter().position(|w| w.to_bytes().eq_ignore_ascii_case(word))?;
        c_int::try_from(index).ok()
    }
}

impl Setting for Choice {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn register(&'static self, ctx: Ctx<'_>, given: Option<&[u8]>) -> Result<(), String> {
        let default = match given {
            None => 0,
            Some(word) => self.index_of(word).ok_or_else(|| {
                let words: Vec<_> = self.words.iter().map(|w| w.to_string_lossy()).collect();
                format!("must be one of {}", words.join(", "))
            })?,
        };
        self.value.set(default);
        let mut words: Vec<*const c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        let numbers: Vec<c_int> = (0..).take(words.len()).collect();
        // SAFETY: called while the module loads; the server copies name, words and numbers, of
        // which there are as many as said; the private data is a static.
        let status = unsafe {
            api!(RedisModule_RegisterEnumConfig(
                ctx.as_ptr(),
                self.name.as_ptr(),
                default,
                raw::REDISMODULE_CONFIG_DEFAULT,
                words.as_mut_ptr(),
                numbers.as_ptr(),
                numbers.len() as c_int,
                Some(get_choice),
                Some(set_choice),
                Some(apply_choice),
                ptr::from_ref(self).cast_mut().cast::<c_void>(),
            ))
        };
        registered(status)
    }

    fn agrees(&self) -> Result<(), String> {
        (self.agrees)()
    }
}

/// A setting whose value is an integer within bounds.
pub(crate) struct Number {
    name: &'static CStr,
    default: i64,
    min: i64,
    max: i64,
    changed: fn(),
    value: MainThread<i64>,
}

impl Number {
    pub(crate) const fn new(
        name: &'static CStr,
        default: i64,
        bounds: RangeInclusive<i64>,
        changed: fn(),
    ) -> Self {
        let (min, max) = (*bounds.start(), *bounds.end());
        Self { name, default, min, max, changed, value: MainThread::new(default) }
    }

    pub(crate) fn get(&self) -> i64 {
        self.value.get()
    }

    /// What redis.conf would take: an integer in its one spelling, within the bounds.
    fn parse(&self, text: &[u8]) -> Option<i64> {
        let value: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        let is_plain = value.to_string().as_bytes() == text;
        (is_plain && (self.min..=self.max).contains(&value)).then_some(value)
    }
}

impl Setting for Number {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn register(&'static self, ctx: Ctx<'_>, given: Option<&[u8]>) -> Result<(), String> {
        let default = match given {
            None => self.default,
            Some(text) => self
                .parse(text)
                .ok_or_else(|| format!("must be an integer from {} to {}", self.min, self.max))?,
        };
        self.value.set(default);
        // SAFETY: called while the module loads; the server copies the name, and the private
        // data is a static.
        let status = unsafe {
            api!(RedisModule_RegisterNumericConfig(
                ctx.as_ptr(),
                self.name.as_ptr(),
                default,
                raw::REDISMODULE_CONFIG_DEFAULT,
                self.min,
                self.max,
                Some(get_number),
                Some(set_number),
                None,
                ptr::from_ref(self).cast_mut().cast::<c_void>(),
            ))
        };
        registered(status)
    }
}

fn registered(status: c_int) -> Result<(), String> {
    if status == OK { Ok(()) } else { Err("could not be registered".to_owned()) }
}

/// The getter lends its string: the server copies it and never frees it.
unsafe extern "C" fn get_text(
    _name: *const c_char,
    setting: *mut c_void,
) -> *mut raw::RedisModuleString {
    // SAFETY: the private data that `Text::register` gave.
    let setting = unsafe { &*setting.cast::<Text>() };
    let lend = |value: &mut Option<OwnedStr>| value.as_ref().map(|text| text.as_str().as_ptr());
    guarded(|| setting.value.with(lend)).flatten().unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn set_text(
    _name: *const c_char,
    value: *mut raw::RedisModuleString,
    setting: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the private data that `Text::register` gave.
    let setting = unsafe { &*setting.cast::<Text>() };
    // SAFETY: the server's string lives for this call.
    let Some(value) = (unsafe { borrow(value) }) else { return ERR };
    let result = guarded(|| setting.accept(value)).unwrap_or_else(|| Err(BUG.to_owned()));
    // SAFETY: the server's place for an error, or null.
    unsafe { status_of(result, error) }
}

/// Called when all settings of a CONFIG SET are set. On an error the server sets them back.
unsafe extern "C" fn apply_text(
    _ctx: *mut raw::RedisModuleCtx,
    setting: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the private data that `Text::register` gave.
    let setting = unsafe { &*setting.cast::<Text>() };
    // SAFETY: the server's place for an error, or null.
    unsafe { status_of(agreement(setting.agrees), error) }
}

/// As [`apply_text`].
unsafe extern "C" fn apply_choice(
    _ctx: *mut raw::RedisModuleCtx,
    setting: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the private data that `Choice::register` gave.
    let setting = unsafe { &*setting.cast::<Choice>() };
    // SAFETY: the server's place for an error, or null.
    unsafe { status_of(agreement(setting.agrees), error) }
}

fn agreement(agrees: fn() -> Result<(), String>) -> Result<(), String> {
    guarded(agrees).unwrap_or_else(|| Err(BUG.to_owned()))
}

/// # Safety
/// `error` must be null, or where the server takes a string from that says why.
unsafe fn status_of(result: Result<(), String>, error: *mut *mut raw::RedisModuleString) -> c_int {
    let Err(reason) = result else { return OK };
    if !error.is_null() {
        // SAFETY: the server takes the string that is put where `error` points.
        unsafe { *error = OwnedStr::new(reason.as_bytes()).into_raw() };
    }
    ERR
}

unsafe extern "C" fn get_choice(_name: *const c_char, setting: *mut c_void) -> c_int {
    // SAFETY: the private data that `Choice::register` gave.
    unsafe { &*setting.cast::<Choice>() }.value.get()
}

unsafe extern "C" fn set_choice(
    _name: *const c_char,
    value: c_int,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the private data that `Choice::register` gave.
    let setting = unsafe { &*setting.cast::<Choice>() };
    setting.value.set(value);
    guarded(setting.changed).map_or(ERR, |()| OK)
}

unsafe extern "C" fn get_number(_name: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: the private data that `Number::register` gave.
    unsafe { &*setting.cast::<Number>() }.value.get()
}

/// The server has checked the bounds.
unsafe extern "C" fn set_number(
    _name: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the private data that `Number::register` gave.
    let setting = unsafe { &*setting.cast::<Number>() };
    setting.value.set(value);
    guarded(setting.changed).map_or(ERR, |()| OK)
}
