//! The context of one call from the server.

use super::api::api;
use super::main_thread::MainThread;
use super::string::{OwnedStr, Str, own};
use redis_module::raw;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

/// The server's context of one callback. Everything done to keys goes through it.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'a> {
    raw: *mut raw::RedisModuleCtx,
    life: PhantomData<&'a ()>,
}

/// The family of a keyspace event: what `notify-keyspace-events` selects by.
#[derive(Clone, Copy)]
pub(crate) enum EventClass {
    Generic,
    String,
    List,
    Hash,
    SortedSet,
    Stream,
    /// The time to live of a key was over.
    Expired,
    /// A key went because memory was short.
    Evicted,
    /// A key was created, whatever it holds; only modules get this event.
    New,
    /// A key was loaded from an RDB file; only modules get this event.
    Loaded,
}

impl EventClass {
    pub(super) fn flag(self) -> i32 {
        match self {
            Self::Generic => raw::REDISMODULE_NOTIFY_GENERIC,
            Self::String => raw::REDISMODULE_NOTIFY_STRING,
            Self::List => raw::REDISMODULE_NOTIFY_LIST,
            Self::Hash => raw::REDISMODULE_NOTIFY_HASH,
            Self::SortedSet => raw::REDISMODULE_NOTIFY_ZSET,
            Self::Stream => raw::REDISMODULE_NOTIFY_STREAM,
            Self::Expired => raw::REDISMODULE_NOTIFY_EXPIRED,
            Self::Evicted => raw::REDISMODULE_NOTIFY_EVICTED,
            Self::New => raw::REDISMODULE_NOTIFY_NEW,
            Self::Loaded => raw::REDISMODULE_NOTIFY_LOADED,
        }
    }
}

/// Is another server the truth, from which a tool copies data to this one? (`import-mode` of
/// Valkey.)
pub(super) static IS_IMPORTING: MainThread<bool> = MainThread::new(false);

/// Is this server a node of a cluster?
pub(crate) fn is_cluster_node() -> bool {
    // SAFETY: without a context the flags are those of the server.
    let flags = unsafe { api!(RedisModule_GetContextFlags(ptr::null_mut())) };
    flags & (raw::REDISMODULE_CTX_FLAGS_CLUSTER as i32) != 0
}

impl<'a> Ctx<'a> {
    /// # Safety
    /// `raw` must be a context that the server keeps alive for `'a`.
    pub(super) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Self {
        Self { raw, life: PhantomData }
    }

    pub(super) fn as_ptr(self) -> *mut raw::RedisModuleCtx {
        self.raw
    }

    /// Notifies subscribers of keyspace events as the plain command would have.
    pub(crate) fn notify(self, class: EventClass, event: &CStr, key: Str<'_>) {
        // SAFETY: context and key are live; the server copies what it keeps. It fails only
        // without a client, and then nobody can have asked for anything.
        unsafe {
            api!(RedisModule_NotifyKeyspaceEvent(
                self.raw,
                class.flag(),
                event.as_ptr(),
                key.as_ptr(),
            ))
        };
    }

    /// Sends `command` with its arguments to replicas and the append-only file.
    ///
    /// The only failure is a command that the server does not know, and loading checks for that.
    pub(crate) fn replicate(self, command: &CStr, arguments: &[Str<'_>]) {
        // The lengths of what every sale and release sends are spelled out: each spares the server
        // one reallocation.
        macro_rules! replicate {
            ($($format:literal $words:tt)*) => {
                match *arguments {
                    $(replicate!(@pattern $words) => replicate!(@send $format $words),)*
                    _ => replicate!(@send c"v" [(arguments.as_ptr()) (arguments.len())]),
                }
            };
            (@pattern [$($word:ident)*]) => { [$($word),*] };
            (@send $format:literal [$($word:tt)*]) => {
                // SAFETY: context and name are live, and the format is that of the arguments: so
                // many server strings, or a vector of them and its length.
                unsafe {
                    let (name, format) = (command.as_ptr(), $format.as_ptr());
                    api!(RedisModule_Replicate(self.raw, name, format, $($word),*))
                }
            };
        }
        replicate! {
            c"s" [a]
            c"ss" [a b]
            c"sss" [a b c]
            c"ssssssss" [a b c d e f g h]
            c"ssssssssss" [a b c d e f g h i j]
            c"ssssssssssss" [a b c d e f g h i j k l]
        };
    }

    /// The number of the database that keys are opened in.
    pub(crate) fn selected_db(self) -> i32 {
        // SAFETY: the context is live.
        unsafe { api!(RedisModule_GetSelectedDb(self.raw)) }
    }

    /// Opens keys in another database from now on, and replicates there. False when there is no
    /// such database. Only in callbacks of our own: a command's client would stay there.
    pub(crate) fn select_db(self, db: i32) -> bool {
        // SAFETY: the context is live; a number out of range is refused.
        unsafe { api!(RedisModule_SelectDb(self.raw, db)) == raw::REDISMODULE_OK as i32 }
    }

    /// The databases that hold a key. The same one stays selected.
    pub(crate) fn databases_with_keys(self) -> Vec<i32> {
        // SAFETY: the context is live.
        self.in_databases(|| unsafe { api!(RedisModule_DbSize(self.raw)) } > 0)
    }

    /// The databases of which this is true. The same one stays selected.
    pub(super) fn in_databases(self, is_wanted: impl Fn() -> bool) -> Vec<i32> {
        let selected = self.selected_db();
        let databases = (0..).take_while(|db| self.select_db(*db));
        let found = databases.filter(|_| is_wanted()).collect();
        self.select_db(selected);
        found
    }

    /// The clock now, unix time. To be read once per command.
    pub(crate) fn now_ms(self) -> i64 {
        // SAFETY: takes nothing.
        unsafe { api!(RedisModule_Milliseconds()) }
    }

    /// Milliseconds by a clock that is never set, from some moment on: for spans of time.
    pub(crate) fn steady_ms(self) -> u64 {
        // SAFETY: takes nothing.
        unsafe { api!(RedisModule_MonotonicMicroseconds()) / 1000 }
    }

    /// [`Ctx::now_ms`] in microseconds. The server's own call for it is newer than the oldest
    /// server.
    pub(crate) fn now_us(self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// Is more memory in use than `maxmemory` allows?
    pub(crate) fn is_memory_full(self) -> bool {
        self.has_any_flag(raw::REDISMODULE_CTX_FLAGS_OOM)
    }

    pub(crate) fn is_replica(self) -> bool {
        self.has_any_flag(raw::REDISMODULE_CTX_FLAGS_SLAVE)
    }

    /// Are writes held back, by CLIENT PAUSE or a failover? Then a write in the background would
    /// crash the server: only commands that were let through may write.
    pub(crate) fn is_paused(self) -> bool {
        // SAFETY: a question without arguments.
        unsafe { api!(RedisModule_AvoidReplicaTraffic()) != 0 }
    }

    /// May a timer or the end of a turn write now? Not while another server is the truth: on a
    /// replica, or where a tool imports data. Not while data is loaded, not while writes are
    /// paused.
    pub(crate) fn may_write_in_background(self) -> bool {
        !self.is_paused()
            && !IS_IMPORTING.get()
            && !self.has_any_flag(
                raw::REDISMODULE_CTX_FLAGS_SLAVE
                    | raw::REDISMODULE_CTX_FLAGS_LOADING
                    | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING,
            )
    }

    /// May this command's client be blocked? Not in a transaction, in a script, or where blocking
    /// is denied.
    pub(crate) fn may_block(self) -> bool {
        !self.has_any_flag(
            raw::REDISMODULE_CTX_FLAGS_LUA
                | raw::REDISMODULE_CTX_FLAGS_MULTI
                | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING,
        )
    }

    /// The id of the connection that this command came by, which is never reused while the server
    /// runs. None for a command that a script or another module runs: that has no connection.
    pub(crate) fn connection(self) -> Option<u64> {
        if self.has_any_flag(raw::REDISMODULE_CTX_FLAGS_LUA) {
            return None;
        }
        // SAFETY: the context is live.
        let id = unsafe { api!(RedisModule_GetClientId(self.raw)) };
        // SAFETY: without a struct to fill, this only says whether the server has a connection of
        // this number.
        let status = unsafe { api!(RedisModule_GetClientInfoById(ptr::null_mut(), id)) };
        (status == raw::REDISMODULE_OK as i32).then_some(id)
    }

    /// The name of the user that this command's connection has authenticated as. None for a command
    /// that has no connection.
    pub(crate) fn user_name(self) -> Option<OwnedStr> {
        // SAFETY: the context is live.
        let id = unsafe { api!(RedisModule_GetClientId(self.raw)) };
        // SAFETY: the context is live; the server answers null for a client without a user, and
        // otherwise with a string that was made for us.
        unsafe { own(api!(RedisModule_GetClientUserNameById(self.raw, id))) }
    }

    fn has_any_flag(self, wanted: u32) -> bool {
        // SAFETY: the context is live.
        let flags = unsafe { api!(RedisModule_GetContextFlags(self.raw)) };
        flags & (wanted as i32) != 0
    }

    /// Says how the module wants to be treated:
    /// it survives a broken RDB read and a load beside live data (it keeps nothing of its own), and
    /// it tells the server itself which keys it changed, so that a key that was opened for
    /// writing and left alone disturbs no WATCH and no client-side cache.
    pub(crate) fn set_module_options(self) {
        self.add_module_options(0);
    }

    /// Says these options of the server's own, and those of [`Ctx::set_module_options`].
    pub(super) fn add_module_options(self, more: u32) {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | more;
        // SAFETY: the context is live, and these are flags of the API.
        unsafe { api!(RedisModule_SetModuleOptions(self.raw, options as i32)) };
    }

    /// Sets every configuration to what redis.conf or the default says; false when one is refused.
    pub(crate) fn load_configs(self) -> bool {
        // SAFETY: called while the module loads, after all configurations were registered.
        unsafe { api!(RedisModule_LoadConfigs(self.raw)) == raw::REDISMODULE_OK as i32 }
    }

    /// Writes a line into the server's log, at level `warning`.
    pub(crate) fn warn(self, message: &str) {
        log(self.raw, c"warning", message);
    }
}

/// One line in the server's log. A NUL byte becomes `?`; `message` is never a format.
pub(super) fn log(ctx: *mut raw::RedisModuleCtx, level: &CStr, message: &str) {
    let text = CString::new(message.replace('\0', "?")).unwrap_or_default();
    // SAFETY: the message travels as the argument of "%s"; a null context is allowed.
    unsafe { api!(RedisModule_Log(ctx, level.as_ptr(), c"%s".as_ptr(), text.as_ptr())) };
}
