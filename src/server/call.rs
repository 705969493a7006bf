//! Calling other commands of the server, for what the low-level API has no function for.

use super::api::api;
use super::ctx::Ctx;
use super::string::{OwnedStr, Str};
use redis_module::raw;
use std::ffi::{CStr, c_char};
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Why a call brought no result. Nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// A key is of another type than the command is for.
    WrongType,
    /// There is no such stream, or no such group of it.
    NoGroup,
    /// In cluster mode: a key's slot is not here, or only half here.
    NotHere,
    /// Anything else.
    Refused,
}

/// The reply of a call, freed when dropped.
pub(crate) struct Call<'a> {
    raw: NonNull<raw::RedisModuleCallReply>,
    life: PhantomData<Ctx<'a>>,
}

impl<'a> Call<'a> {
    /// Runs a command, and sends what it changed to replicas and append-only file.
    #[inline]
    pub(crate) fn write(
        ctx: Ctx<'a>,
        command: &CStr,
        arguments: &[Str<'_>],
    ) -> Result<Self, CallError> {
        Self::run(ctx, command, [c"!ss", c"!v"], arguments)
    }

    /// Runs a command that only reads.
    #[inline]
    pub(crate) fn read(
        ctx: Ctx<'a>,
        command: &CStr,
        arguments: &[Str<'_>],
    ) -> Result<Self, CallError> {
        Self::run(ctx, command, [c"ss", c"v"], arguments)
    }

    /// By the format of two strings, or that of a vector, which takes the server some hundred
    /// instructions more (Redis 7.0.15).
    #[inline]
    fn run(
        ctx: Ctx<'a>,
        command: &CStr,
        [two, all]: [&CStr; 2],
        arguments: &[Str<'_>],
    ) -> Result<Self, CallError> {
        let (raw, command) = (ctx.as_ptr(), command.as_ptr());
        Self::checked(if let [first, second] = *arguments {
            // SAFETY: context, name and strings are live; the format is two server strings.
            unsafe { api!(RedisModule_Call(raw, command, two.as_ptr(), first, second)) }
        } else {
            let (start, count) = (arguments.as_ptr(), arguments.len());
            // SAFETY: context, name and strings are live; the format is a vector of strings and
            // its length.
            unsafe { api!(RedisModule_Call(raw, command, all.as_ptr(), start, count)) }
        })
    }

    fn checked(raw: *mut raw::RedisModuleCallReply) -> Result<Self, CallError> {
        let Some(raw) = NonNull::new(raw) else {
            let errno = io::Error::last_os_error();
            return Err(match errno.kind() {
                io::ErrorKind::PermissionDenied => CallError::NotHere,
                _ => CallError::Refused,
            });
        };
        let reply = Self { raw, life: PhantomData };
        match reply.kind() {
            raw::REDISMODULE_REPLY_ERROR if reply.text().starts_with(b"WRONGTYPE") => {
                Err(CallError::WrongType)
            }
            raw::REDISMODULE_REPLY_ERROR if reply.text().starts_with(b"NOGROUP") => {
                Err(CallError::NoGroup)
            }
            raw::REDISMODULE_REPLY_ERROR => Err(CallError::Refused),
            _ => Ok(reply),
        }
    }

    fn kind(&self) -> isize {
        // SAFETY: the reply is live.
        let kind = unsafe { api!(RedisModule_CallReplyType(self.raw.as_ptr())) };
        kind as isize
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind() == raw::REDISMODULE_REPLY_NULL
    }

    /// The integer of an integer reply; of any other a number that no command here replies.
    pub(crate) fn integer(&self) -> i64 {
        // SAFETY: the reply is live.
        unsafe { api!(RedisModule_CallReplyInteger(self.raw.as_ptr())) }
    }

    /// The bytes of a string, status or error reply; empty of any other.
    pub(crate) fn text(&self) -> &[u8] {
        // SAFETY: the reply is live; the element is the reply itself.
        unsafe { text_of(self.raw.as_ptr()) }
    }

    /// The texts of an array reply's elements, in order; empty ones for what has no text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the reply is live.
        unsafe { texts_in(self.raw.as_ptr()) }
    }

    /// The integers of an array reply's elements, in order.
    pub(crate) fn integers(&self) -> impl Iterator<Item = i64> {
        // SAFETY: the reply is live.
        let count = unsafe { api!(RedisModule_CallReplyLength(self.raw.as_ptr())) };
        (0..count).map_while(|index| {
            let raw = self.raw.as_ptr();
            // SAFETY: the reply is live; an index that it lacks gives null.
            let number =
                NonNull::new(unsafe { api!(RedisModule_CallReplyArrayElement(raw, index)) });
            // SAFETY: the element lives as long as the reply.
            number.map(|number| unsafe { api!(RedisModule_CallReplyInteger(number.as_ptr())) })
        })
    }

    /// The integer at `inner` of the array that is the element `outer` of an array reply; none when
    /// there is no such element.
    pub(crate) fn integer_at(&self, outer: usize, inner: usize) -> Option<i64> {
        // SAFETY: the reply is live; an index that it lacks gives null.
        let array = unsafe { api!(RedisModule_CallReplyArrayElement(self.raw.as_ptr(), outer)) };
        let array = NonNull::new(array)?;
        // SAFETY: the element lives as long as the reply; an index that it lacks gives null.
        let number = unsafe { api!(RedisModule_CallReplyArrayElement(array.as_ptr(), inner)) };
        let number = NonNull::new(number)?;
        // SAFETY: as above.
        Some(unsafe { api!(RedisModule_CallReplyInteger(number.as_ptr())) })
    }

    /// The texts of the array that is the element `index` of an array reply.
    pub(crate) fn texts_of(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the reply is live; an index that it lacks gives null.
        let inner = unsafe { api!(RedisModule_CallReplyArrayElement(self.raw.as_ptr(), index)) };
        // SAFETY: the element is null, or lives as long as the reply.
        unsafe { texts_in(inner) }
    }
}

/// # Safety
/// `reply` must be null, or a reply that lives for `'r`.
unsafe fn texts_in<'r>(reply: *mut raw::RedisModuleCallReply) -> impl Iterator<Item = &'r [u8]> {
    let count = if reply.is_null() {
        0
    } else {
        // SAFETY: by the caller the reply is live.
        unsafe { api!(RedisModule_CallReplyLength(reply)) }
    };
    (0..count).map(move |index| {
        // SAFETY: by the caller the reply is live; an index that it lacks gives null, which is no
        // text.
        unsafe { text_of(api!(RedisModule_CallReplyArrayElement(reply, index))) }
    })
}

/// # Safety
/// `reply` must be null, or a reply that lives for `'r`.
unsafe fn text_of<'r>(reply: *mut raw::RedisModuleCallReply) -> &'r [u8] {
    let mut len = 0;
    if reply.is_null() {
        return &[];
    }
    // SAFETY: by the caller the reply is live.
    let start: *const c_char = unsafe { api!(RedisModule_CallReplyStringPtr(reply, &mut len)) };
    if start.is_null() {
        return &[];
    }
    // SAFETY: the server says that `len` bytes stand there, for as long as the reply lives.
    unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // SAFETY: the reply is ours, and this is the one place that frees it.
        unsafe { api!(RedisModule_FreeCallReply(self.raw.as_ptr())) }
    }
}

/// Does the server know `command` by this name? `rename-command` may have taken it away.
///
/// Asks for the keys of the name alone, which runs nothing and finds none.
pub(crate) fn is_known(ctx: Ctx<'_>, command: &CStr) -> bool {
    let name = OwnedStr::new(command.to_bytes());
    let (mut words, mut count) = ([name.as_str().as_ptr()], 0);
    // SAFETY: context and name are live; the vector has one string, which is only read.
    let keys = unsafe {
        api!(RedisModule_GetCommandKeys(ctx.as_ptr(), words.as_mut_ptr(), 1, &raw mut count))
    };
    let errno = io::Error::last_os_error();
    if keys.is_null() {
        return errno.kind() != io::ErrorKind::NotFound;
    }
    // SAFETY: the server made the list for us.
    unsafe { api!(RedisModule_Free(keys.cast())) };
    true
}
