//! Keys, opened for reading or for writing: two types, so that neither is taken for the other.

use super::api::api;
use super::ctx::Ctx;
use super::string::Str;
use domain::entry_id::EntryId;
use redis_module::raw;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Empty,
    String,
    List,
    Hash,
    Set,
    SortedSet,
    Stream,
    Other,
}

/// The key holds something that is not a string.
#[derive(Debug)]
pub(crate) struct NotAString;

struct Handle<'a> {
    raw: NonNull<raw::RedisModuleKey>,
    life: PhantomData<Ctx<'a>>,
}

impl Handle<'_> {
    fn as_ptr(&self) -> *mut raw::RedisModuleKey {
        self.raw.as_ptr()
    }

    fn kind(&self) -> Kind {
        // SAFETY: the handle is open.
        let kind = unsafe { api!(RedisModule_KeyType(self.as_ptr())) };
        match kind as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Kind::Empty,
            raw::REDISMODULE_KEYTYPE_STRING => Kind::String,
            raw::REDISMODULE_KEYTYPE_LIST => Kind::List,
            raw::REDISMODULE_KEYTYPE_HASH => Kind::Hash,
            raw::REDISMODULE_KEYTYPE_SET => Kind::Set,
            raw::REDISMODULE_KEYTYPE_ZSET => Kind::SortedSet,
            raw::REDISMODULE_KEYTYPE_STREAM => Kind::Stream,
            _ => Kind::Other,
        }
    }

    /// The bytes of a string key, in place. Empty when the key is.
    fn dma(&self, mode: u32) -> Result<(*mut u8, usize), NotAString> {
        let mut len = 0;
        // SAFETY: the handle is open, with at least the rights of `mode`.
        let start = unsafe { api!(RedisModule_StringDMA(self.as_ptr(), &mut len, mode as c_int)) };
        if start.is_null() { Err(NotAString) } else { Ok((start.cast::<u8>(), len)) }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and this is the one place that closes it.
        unsafe { api!(RedisModule_CloseKey(self.as_ptr())) }
    }
}

/// A key that exists, opened for reading. Changes nothing, disturbs nobody.
pub(crate) struct ReadKey<'a>(Handle<'a>);

/// The databases that hold this key. The same one stays selected.
pub(crate) fn databases_with(ctx: Ctx<'_>, key: Str<'_>) -> Vec<i32> {
    ctx.in_databases(|| ReadKey::open(ctx, key).is_some())
}

impl<'a> ReadKey<'a> {
    /// Opens `name`; none when the key does not exist (or its time to live is over).
    pub(crate) fn open(ctx: Ctx<'a>, name: Str<'_>) -> Option<Self> {
        // SAFETY: context and name are live; the server keeps its own reference to the name.
        let raw = unsafe {
            api!(RedisModule_OpenKey(ctx.as_ptr(), name.as_ptr(), raw::REDISMODULE_READ as c_int))
        };
        NonNull::new(raw).map(|raw| Self(Handle { raw, life: PhantomData }))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind()
    }

    pub(super) fn as_ptr(&self) -> *mut raw::RedisModuleKey {
        self.0.as_ptr()
    }

    /// What `read` makes of the bytes of a string key, and of `with`. It is a plain function, so
    /// that it has no context: a call of the server could free the bytes.
    ///
    /// The server turns a string that it stores as a number into bytes here, once: the next reads
    /// find it so. The value stays what it was.
    #[inline]
    pub(crate) fn string<A, T>(&self, with: A, read: fn(&[u8], A) -> T) -> Result<T, NotAString> {
        let (start, len) = self.0.dma(raw::REDISMODULE_READ)?;
        // SAFETY: the server says that `len` bytes stand there. They stay until it is called.
        Ok(read(unsafe { std::slice::from_raw_parts(start, len) }, with))
    }

    /// When the time to live ends, in unix milliseconds; none for a key that stays.
    pub(crate) fn ends_at_ms(&self) -> Option<i64> {
        // SAFETY: the handle is open.
        let at_ms = unsafe { api!(RedisModule_GetAbsExpire(self.0.as_ptr())) };
        (at_ms >= 0).then_some(at_ms)
    }
}

/// A key opened for writing, there or not.
///
/// Watchers of the key (WATCH, client-side caches) are notified when this is dropped, and only if
/// something was changed.
pub(crate) struct WriteKey<'a> {
    handle: Option<ReadKey<'a>>,
    ctx: Ctx<'a>,
    name: Str<'a>,
    changed: bool,
}

impl<'a> WriteKey<'a> {
    /// Opens `name`, which need not exist.
    pub(crate) fn open(ctx: Ctx<'a>, name: Str<'a>) -> Self {
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        // SAFETY: context and name are live; the server keeps its own reference to the name.
        let raw = unsafe { api!(RedisModule_OpenKey(ctx.as_ptr(), name.as_ptr(), mode as c_int)) };
        // A key opened for writing is never null on any server; without a handle nothing is done.
        let handle = NonNull::new(raw).map(|raw| ReadKey(Handle { raw, life: PhantomData }));
        Self { handle, ctx, name, changed: false }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.handle.as_ref().map_or(Kind::Other, ReadKey::kind)
    }

    pub(super) fn as_ptr(&self) -> Option<*mut raw::RedisModuleKey> {
        self.handle.as_ref().map(ReadKey::as_ptr)
    }

    /// The same key, to be read; none when it does not exist.
    ///
    /// To read by a second handle would be wrong: opening it can expire the value and free it.
    pub(crate) fn reading(&self) -> Option<&ReadKey<'a>> {
        self.handle.as_ref().filter(|handle| handle.kind() != Kind::Empty)
    }

    /// What [`super::collections`] changed.
    pub(super) fn mark_changed(&mut self) {
        self.changed = true;
    }

    /// How many elements, or bytes of a string, the key holds; 0 when empty.
    pub(crate) fn len(&self) -> usize {
        let Some(handle) = &self.handle else { return 0 };
        // SAFETY: the handle is open.
        unsafe { api!(RedisModule_ValueLength(handle.as_ptr())) }
    }

    /// Overwrites the bytes of a string key that exists. Its time to live stays.
    pub(crate) fn overwrite_string(&mut self, bytes: &[u8]) -> Result<(), NotAString> {
        let Some(handle) = &self.handle else { return Err(NotAString) };
        if handle.kind() == Kind::Empty {
            return Err(NotAString);
        }
        let (mut start, len) = handle.0.dma(raw::REDISMODULE_WRITE)?;
        if len != bytes.len() {
            // SAFETY: the handle is open for writing and holds a string.
            let status = unsafe { api!(RedisModule_StringTruncate(handle.as_ptr(), bytes.len())) };
            if status != raw::REDISMODULE_OK as c_int {
                return Err(NotAString);
            }
            (start, _) = handle.0.dma(raw::REDISMODULE_WRITE)?;
        }
        // SAFETY: the string is ours alone since the DMA call and has the length of `bytes`,
        // which is memory of our own.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        self.changed = true;
        Ok(())
    }

    /// Makes the key a string, whatever it was. It stays forever until an end is set.
    ///
    /// The server takes the string without a copy where it can.
    pub(crate) fn set_string(&mut self, value: Str<'_>) {
        let Some(handle) = &self.handle else { return };
        // SAFETY: the handle is open for writing, and the server keeps a reference of its own. It
        // fails only for a handle that is not.
        unsafe { api!(RedisModule_StringSet(handle.as_ptr(), value.as_ptr())) };
        self.changed = true;
    }

    /// Sets when the time to live of a key ends, in unix milliseconds. False if there is no key.
    pub(crate) fn set_end(&mut self, at_ms: i64) -> bool {
        let Some(handle) = &self.handle else { return false };
        // SAFETY: the handle is open for writing. It fails only for a key that does not exist.
        let status = unsafe { api!(RedisModule_SetAbsExpire(handle.as_ptr(), at_ms)) };
        let is_set = status == raw::REDISMODULE_OK as c_int;
        self.changed |= is_set;
        is_set
    }

    /// Appends an entry under the next id of the stream's own choice, creating the stream.
    /// `fields` are names and values in turn. None when the server refuses, and nothing is changed
    /// then.
    pub(crate) fn append(&mut self, fields: &[Str<'_>]) -> Option<EntryId> {
        let mut id = raw::RedisModuleStreamID { ms: 0, seq: 0 };
        let added = self.stream_add(raw::REDISMODULE_STREAM_ADD_AUTOID, &mut id, fields);
        self.changed |= added;
        added.then_some(EntryId { ms: id.ms, seq: id.seq })
    }

    /// Would the stream refuse the next entry because its last id is the greatest there is?
    ///
    /// Asks by offering the smallest id, 0-1. A stream that holds an entry has a last id of at
    /// least that, so the offer is always refused; but the server looks first whether the ids are
    /// used up, and says so. Must be asked only of a stream that holds an entry.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        let mut id = raw::RedisModuleStreamID { ms: 0, seq: 1 };
        let added = self.stream_add(0, &mut id, &[]);
        debug_assert!(!added);
        std::io::Error::last_os_error().raw_os_error() == Some(libc_efbig())
    }

    fn stream_add(
        &mut self,
        flags: u32,
        id: &mut raw::RedisModuleStreamID,
        fields: &[Str<'_>],
    ) -> bool {
        let Some(handle) = &self.handle else { return false };
        let pairs = i64::try_from(fields.len() / 2).unwrap_or(0);
        // The API takes the vector as mutable, and only reads it.
        let vector = fields.as_ptr().cast::<*mut raw::RedisModuleString>().cast_mut();
        // SAFETY: the handle is open for writing; `vector` holds `pairs` names and as many
        // values, a Str being one string pointer.
        let status = unsafe {
            api!(RedisModule_StreamAdd(handle.as_ptr(), flags as c_int, id, vector, pairs))
        };
        status == raw::REDISMODULE_OK as c_int
    }

    /// Deletes the key.
    pub(crate) fn delete(&mut self) {
        let Some(handle) = &self.handle else { return };
        // SAFETY: the handle is open for writing. It fails only for a handle that is not.
        unsafe { api!(RedisModule_DeleteKey(handle.as_ptr())) };
        self.changed = true;
    }
}

/// What StreamAdd leaves in errno when the ids are used up: EFBIG of Linux and the BSDs.
const fn libc_efbig() -> i32 {
    27
}

impl Drop for WriteKey<'_> {
    fn drop(&mut self) {
        self.handle = None;
        if self.changed {
            // SAFETY: context and name are live, and the handle is closed. The status is OK
            // always.
            unsafe { api!(RedisModule_SignalModifiedKey(self.ctx.as_ptr(), self.name.as_ptr())) };
        }
    }
}
