//! A key that one command reads and then perhaps writes, opened by one handle at a time.
//!
//! Opening a key can expire it and free its value, under a handle that is open already: so what is
//! open is asked, and never opened again.

use crate::error::CommandError;
use crate::server::{Ctx, Kind, OwnedStr, ReadKey, Str, WriteKey};
use std::cell::{Ref, RefCell, RefMut};

/// The one handle of a key.
#[derive(Default)]
pub(super) struct Opened<'a>(RefCell<KeyHandle<'a>>);

#[derive(Default)]
enum KeyHandle<'a> {
    #[default]
    Closed,
    Missing,
    Reading(ReadKey<'a>),
    Writing(WriteKey<'a>),
}

impl<'a> Opened<'a> {
    /// The key, to be read; none if it does not exist.
    pub(super) fn reading(&self, ctx: Ctx<'a>, name: Str<'a>) -> Option<Ref<'_, ReadKey<'a>>> {
        if matches!(*self.0.borrow(), KeyHandle::Closed) {
            let opened = ReadKey::open(ctx, name).map_or(KeyHandle::Missing, KeyHandle::Reading);
            *self.0.borrow_mut() = opened;
        }
        Ref::filter_map(self.0.borrow(), |it: &KeyHandle<'a>| match it {
            KeyHandle::Reading(key) => Some(key),
            KeyHandle::Writing(key) => key.reading(),
            KeyHandle::Closed | KeyHandle::Missing => None,
        })
        .ok()
    }

    pub(super) fn exists(&self, ctx: Ctx<'a>, name: Str<'a>) -> bool {
        self.reading(ctx, name).is_some()
    }

    /// The value of a field of a hash; none when the key or the field is missing.
    pub(super) fn field(
        &self,
        ctx: Ctx<'a>,
        name: Str<'a>,
        field: Str<'_>,
    ) -> Result<Option<OwnedStr>, CommandError> {
        let Some(hash) = self.reading(ctx, name) else { return Ok(None) };
        Ok(hash.hash_get(field)?)
    }

    /// Opens the key for writing; an error if it exists and is of another kind.
    pub(super) fn open(
        &self,
        ctx: Ctx<'a>,
        name: Str<'a>,
        wanted: Kind,
    ) -> Result<(), CommandError> {
        let mut handle = self.0.borrow_mut();
        if !matches!(*handle, KeyHandle::Writing(_)) {
            *handle = KeyHandle::Closed;
            *handle = KeyHandle::Writing(WriteKey::open(ctx, name));
        }
        let kind = if let KeyHandle::Writing(key) = &*handle { key.kind() } else { Kind::Other };
        if kind == Kind::Empty || kind == wanted { Ok(()) } else { Err(CommandError::WrongType) }
    }

    /// The key, if it is open for writing.
    pub(super) fn writing(&self) -> Option<RefMut<'_, WriteKey<'a>>> {
        RefMut::filter_map(self.0.borrow_mut(), |handle| match handle {
            KeyHandle::Writing(key) => Some(key),
            _ => None,
        })
        .ok()
    }

    pub(super) fn is_writing(&self) -> bool {
        matches!(*self.0.borrow(), KeyHandle::Writing(_))
    }

    /// Asks the server something that can expire the key, and free its value: while it is asked,
    /// the key is closed. What was open for writing is again afterwards.
    pub(super) fn aside<T>(&self, ctx: Ctx<'a>, name: Str<'a>, ask: impl FnOnce() -> T) -> T {
        let was_writing = self.is_writing();
        self.close();
        let answer = ask();
        if was_writing {
            *self.0.borrow_mut() = KeyHandle::Writing(WriteKey::open(ctx, name));
        }
        answer
    }

    pub(super) fn close(&self) {
        *self.0.borrow_mut() = KeyHandle::Closed;
    }
}
