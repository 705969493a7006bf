//! Strings of the server: borrowed from it, or owned by us.

use super::api::api;
use redis_module::raw;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A server string that somebody else keeps alive for `'a`: an argument, or an [`OwnedStr`].
///
/// `repr(transparent)`: a slice of these is what the API calls a vector of strings.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Str<'a> {
    raw: NonNull<raw::RedisModuleString>,
    life: PhantomData<&'a raw::RedisModuleString>,
}

impl<'a> Str<'a> {
    pub(super) fn as_ptr(self) -> *mut raw::RedisModuleString {
        self.raw.as_ptr()
    }

    /// The same string once more, for somebody who keeps it. To be used where nobody counts its
    /// references on another thread at the same time, as with the words of a command.
    pub(crate) fn retain(self) -> OwnedStr {
        // SAFETY: the string is live; a null context means that the reference is ours to free.
        unsafe { api!(RedisModule_RetainString(ptr::null_mut(), self.raw.as_ptr())) };
        OwnedStr(self.raw)
    }

    /// The bytes, any of 0 to 255.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string lives for 'a, and the server never changes one that it handed out.
        let start = unsafe { api!(RedisModule_StringPtrLen(self.raw.as_ptr(), &mut len)) };
        if start.is_null() {
            return &[];
        }
        // SAFETY: the server says that `len` bytes stand at `start`.
        unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }
    }
}

impl AsRef<[u8]> for Str<'_> {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// The arguments of a command as the server passes them.
///
/// # Safety
/// `argv` must point at `argc` strings that live for `'a`.
pub(super) unsafe fn argv_slice<'a>(
    argv: *mut *mut raw::RedisModuleString,
    argc: i32,
) -> &'a [Str<'a>] {
    let count = usize::try_from(argc).unwrap_or(0);
    if argv.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the caller; a Str is one non-null pointer, and arguments are never null.
    unsafe { std::slice::from_raw_parts(argv.cast::<Str<'a>>(), count) }
}

/// A server string of our own, freed when dropped.
pub(crate) struct OwnedStr(NonNull<raw::RedisModuleString>);

impl OwnedStr {
    /// Copies `bytes` into a new server string. The server ends itself when out of memory.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        // SAFETY: a null context is allowed and means that the string is ours to free.
        let raw = unsafe {
            api!(RedisModule_CreateString(
                ptr::null_mut(),
                bytes.as_ptr().cast::<c_char>(),
                bytes.len(),
            ))
        };
        // SAFETY: CreateString never returns null: it aborts when there is no memory.
        Self(unsafe { NonNull::new_unchecked(raw) })
    }

    pub(crate) fn as_str(&self) -> Str<'_> {
        Str { raw: self.0, life: PhantomData }
    }

    /// Gives the string away to the server, which frees it.
    pub(super) fn into_raw(self) -> *mut raw::RedisModuleString {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnedStr {
    fn drop(&mut self) {
        // SAFETY: we own one reference, and this is where it ends.
        unsafe { api!(RedisModule_FreeString(ptr::null_mut(), self.0.as_ptr())) }
    }
}

/// A view of a server string that came by pointer.
///
/// # Safety
/// `raw` must be a server string that lives for `'a`.
pub(super) unsafe fn borrow<'a>(raw: *mut raw::RedisModuleString) -> Option<Str<'a>> {
    NonNull::new(raw).map(|raw| Str { raw, life: PhantomData })
}

/// Takes over a reference to a server string that was made for us.
///
/// # Safety
/// `raw` must be null, or a reference that nobody else frees.
pub(super) unsafe fn own(raw: *mut raw::RedisModuleString) -> Option<OwnedStr> {
    NonNull::new(raw).map(OwnedStr)
}
