//! Command filters: commands as clients sent them, before the server looks at them.

use super::api::api;
use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::panics::guarded;
use super::string::{OwnedStr, Str, borrow};
use redis_module::raw;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// Looks at every command of every client, and may put another one in its place.
///
/// What it puts there is looked up, checked against access rules, redirected in a cluster and
/// queued in a transaction as if the client had sent it.
pub(crate) trait Filter {
    /// Is a command of this name of interest? Asked for every command, so it must be cheap.
    fn wants(name: &[u8]) -> bool;

    /// A command that is wanted. Must not call the server but through `call`.
    fn see(call: FilteredCall<'_>);
}

/// A filter that is registered. The server keeps it until it is unregistered, or the module is
/// gone.
pub(crate) struct CommandFilter(NonNull<raw::RedisModuleCommandFilter>);

impl CommandFilter {
    /// Makes `F` see every command from the next one on, but for those that the module calls.
    pub(crate) fn register<F: Filter>(ctx: Ctx<'_>) -> Option<Self> {
        let flags = raw::REDISMODULE_CMDFILTER_NOSELF as c_int;
        // SAFETY: the context is live, and the function has the right type.
        let filter = unsafe {
            api!(RedisModule_RegisterCommandFilter(ctx.as_ptr(), Some(on_command::<F>), flags))
        };
        NonNull::new(filter).map(Self)
    }

    pub(crate) fn unregister(self, ctx: Ctx<'_>) {
        // SAFETY: the context is live, and the filter is registered: only this function, which
        // takes it, unregisters it. It fails only for the filter of another module.
        unsafe { api!(RedisModule_UnregisterCommandFilter(ctx.as_ptr(), self.0.as_ptr())) };
    }
}

/// Did a filter replace the command that the server looks at now?
///
/// The next command that a client sends or a script calls ends it, so the server's refusals, and
/// transactions, whose commands run later, leave nothing behind.
static IS_REPLACED: MainThread<bool> = MainThread::new(false);

/// Did a filter replace the command that runs now? True once.
#[inline]
pub(crate) fn take_replaced() -> bool {
    IS_REPLACED.take()
}

unsafe extern "C" fn on_command<F: Filter>(call: *mut raw::RedisModuleCommandFilterCtx) {
    IS_REPLACED.set(false);
    let call = FilteredCall { raw: call, life: PhantomData };
    guarded(|| {
        if call.word(0).is_some_and(|name| F::wants(name.bytes())) {
            F::see(call);
        }
    });
}

/// A command as a client sent it, its name at place 0.
pub(crate) struct FilteredCall<'c> {
    raw: *mut raw::RedisModuleCommandFilterCtx,
    life: PhantomData<&'c raw::RedisModuleCommandFilterCtx>,
}

impl FilteredCall<'_> {
    /// How many words it has, its name among them.
    pub(crate) fn len(&self) -> usize {
        // SAFETY: the server's call lives as long as this.
        let count = unsafe { api!(RedisModule_CommandFilterArgsCount(self.raw)) };
        usize::try_from(count).unwrap_or(0)
    }

    /// The word at a place, if there is one.
    #[inline]
    pub(crate) fn word(&self, place: usize) -> Option<Str<'_>> {
        let place = c_int::try_from(place).ok()?;
        // SAFETY: the server's call lives as long as this. It gives null for a place that is none.
        // The string lives until it is replaced, which takes the call.
        unsafe { borrow(api!(RedisModule_CommandFilterArgGet(self.raw, place))) }
    }

    /// Was it sent by a client, and not called by a script or a module?
    ///
    /// Servers before Redis 7.2 don't say this of what a module calls, and it counts as sent.
    pub(crate) fn is_sent(&self) -> bool {
        // SAFETY: the pointer is written before our load function runs and never again.
        let Some(client_id) = (unsafe { raw::RedisModule_CommandFilterGetClientId }) else {
            // SAFETY: without a context the flags are those of the server.
            let flags = unsafe { api!(RedisModule_GetContextFlags(ptr::null_mut())) };
            return flags & raw::REDISMODULE_CTX_FLAGS_LUA as c_int == 0;
        };
        // SAFETY: the server's call lives as long as this.
        let id = unsafe { client_id(self.raw) };
        // Scripts and modules call by clients that the server does not list.
        // SAFETY: null asks for no information but whether there is such a client.
        let found = unsafe { api!(RedisModule_GetClientInfoById(ptr::null_mut(), id)) };
        found == raw::REDISMODULE_OK as c_int
    }

    /// Makes it the command of this name whose arguments are the words of these places, in order.
    /// To be used as [`Self::replace`], which takes longer.
    pub(crate) fn cut(self, name: OwnedStr, arguments: Range<usize>) {
        let name = name.into_raw();
        // SAFETY: the server's call lives as long as this, and takes our reference to the name. A
        // call has a first word.
        unsafe { api!(RedisModule_CommandFilterArgReplace(self.raw, 0, name)) };
        self.delete(arguments.end..self.len());
        self.delete(1..arguments.start);
        IS_REPLACED.set(true);
    }

    fn delete(&self, places: Range<usize>) {
        for place in places.rev() {
            let place = c_int::try_from(place).unwrap_or(c_int::MAX);
            // SAFETY: the server's call lives as long as this.
            unsafe { api!(RedisModule_CommandFilterArgDelete(self.raw, place)) };
        }
    }

    /// Puts another command in its place. To be used on what a client has sent: Valkey 9.1 crashes
    /// when a command that a script calls becomes longer.
    ///
    /// Each word must be a string of this call's own: one that is kept for several calls could be
    /// counted by two threads at once, since newer servers free words on other threads.
    pub(crate) fn replace(self, words: Vec<OwnedStr>) {
        let (before, after) = (self.len(), words.len());
        for (word, place) in words.into_iter().zip(0..) {
            let word = word.into_raw();
            if usize::try_from(place).is_ok_and(|place| place < before) {
                // SAFETY: the server's call lives as long as this, and takes our reference to the
                // word. It fails only for a place beyond the end.
                unsafe { api!(RedisModule_CommandFilterArgReplace(self.raw, place, word)) };
            } else {
                // SAFETY: as above; so far all places before this one are taken.
                unsafe { api!(RedisModule_CommandFilterArgInsert(self.raw, place, word)) };
            }
        }
        self.delete(after..before);
        IS_REPLACED.set(true);
    }
}
