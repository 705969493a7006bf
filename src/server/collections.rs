//! Lists, hashes and sorted sets, through the handles of [`super::key`].

use super::api::api;
use super::key::{Kind, ReadKey, WriteKey};
use super::string::{OwnedStr, Str, own};
use redis_module::raw;
use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::ptr;

const OK: c_int = raw::REDISMODULE_OK as c_int;

/// The key is no list, no hash, or no sorted set.
#[derive(Debug)]
pub(crate) struct NotThatKind;

/// What a hash is given as value for a field that it is to forget: the API's own constant, 1.
const DELETE_FIELD: usize = 1;

/// The end of a list where LPUSH and LPOP work.
const HEAD: c_int = raw::REDISMODULE_LIST_HEAD as c_int;

impl ReadKey<'_> {
    /// The first element of a list.
    pub(crate) fn list_first(&self) -> Result<Option<OwnedStr>, NotThatKind> {
        if self.kind() != Kind::List {
            return Err(NotThatKind);
        }
        // SAFETY: the handle is open on a list; an index that it lacks gives null, else the
        // element is a new reference of ours.
        Ok(unsafe { own(api!(RedisModule_ListGet(self.as_ptr(), 0))) })
    }

    /// The value of `field` in a hash.
    pub(crate) fn hash_get(&self, field: Str<'_>) -> Result<Option<OwnedStr>, NotThatKind> {
        let mut value: *mut raw::RedisModuleString = ptr::null_mut();
        // SAFETY: the handle is open, and of another kind than a hash is refused; one field with
        // its place for the value, then the null that ends the list.
        let status = unsafe {
            api!(RedisModule_HashGet(
                self.as_ptr(),
                raw::REDISMODULE_HASH_NONE as c_int,
                field.as_ptr(),
                &raw mut value,
                ptr::null_mut::<raw::RedisModuleString>(),
            ))
        };
        // SAFETY: the value is a new reference of ours, or null when there is no such field.
        let value = unsafe { own(value) };
        if status == OK { Ok(value) } else { Err(NotThatKind) }
    }

    /// At most `most` members of a sorted set with their scores, in this range of scores, lowest
    /// first and without those to skip.
    pub(crate) fn members(
        &self,
        scores: RangeInclusive<f64>,
        most: usize,
        skip: impl Fn(&[u8], f64) -> bool,
    ) -> Result<Vec<(OwnedStr, f64)>, NotThatKind> {
        let mut members = Vec::new();
        if self.kind() != Kind::SortedSet {
            return Err(NotThatKind);
        }
        let key = self.as_ptr();
        // SAFETY: the handle is open on a sorted set; the range is inclusive at both ends.
        let status = unsafe {
            api!(RedisModule_ZsetFirstInScoreRange(key, *scores.start(), *scores.end(), 0, 0))
        };
        if status != OK {
            return Err(NotThatKind);
        }
        // SAFETY: a range was begun on this handle and is not stopped yet.
        while members.len() < most && unsafe { api!(RedisModule_ZsetRangeEndReached(key)) } == 0 {
            let mut score = 0.0;
            // SAFETY: as above; the element is a new reference of ours.
            let member = unsafe { own(api!(RedisModule_ZsetRangeCurrentElement(key, &mut score))) };
            let member = member.filter(|member| !skip(member.as_str().bytes(), score));
            members.extend(member.map(|member| (member, score)));
            // SAFETY: as above.
            unsafe { api!(RedisModule_ZsetRangeNext(key)) };
        }
        // SAFETY: as above; the range ends here.
        unsafe { api!(RedisModule_ZsetRangeStop(key)) };
        Ok(members)
    }

    /// The score of a member of a sorted set.
    pub(crate) fn zset_score(&self, member: Str<'_>) -> Result<Option<f64>, NotThatKind> {
        if self.kind() != Kind::SortedSet {
            return Err(NotThatKind);
        }
        let mut score = 0.0;
        // SAFETY: the handle is open on a sorted set; the score is written only if there is one.
        let status =
            unsafe { api!(RedisModule_ZsetScore(self.as_ptr(), member.as_ptr(), &mut score)) };
        Ok((status == OK).then_some(score))
    }

    /// The greatest score in a sorted set.
    pub(crate) fn zset_last_score(&self) -> Result<Option<f64>, NotThatKind> {
        if self.kind() != Kind::SortedSet {
            return Err(NotThatKind);
        }
        let (key, mut score) = (self.as_ptr(), 0.0);
        // SAFETY: the handle is open on a sorted set; the range is all of it.
        let status = unsafe {
            api!(RedisModule_ZsetLastInScoreRange(key, f64::NEG_INFINITY, f64::INFINITY, 0, 0))
        };
        if status != OK {
            return Err(NotThatKind);
        }
        // SAFETY: a range was begun on this handle; the element is a new reference of ours, or
        // null if there is none.
        let last = unsafe { own(api!(RedisModule_ZsetRangeCurrentElement(key, &mut score))) };
        // SAFETY: as above; the range ends here.
        unsafe { api!(RedisModule_ZsetRangeStop(key)) };
        Ok(last.map(|_| score))
    }

    /// How many elements, or bytes of a string, the key holds.
    pub(crate) fn len(&self) -> usize {
        // SAFETY: the handle is open.
        unsafe { api!(RedisModule_ValueLength(self.as_ptr())) }
    }
}

impl WriteKey<'_> {
    /// Takes the first element from a list; the last one takes the key with it. None when the key
    /// is no list.
    pub(crate) fn list_pop_first(&mut self) -> Option<OwnedStr> {
        // A list without an element is never kept as a key; popping from one would crash the
        // server.
        if self.kind() != Kind::List || self.len() == 0 {
            return None;
        }
        let key = self.as_ptr()?;
        // SAFETY: the handle is open for writing, on a list with an element, which becomes a
        // reference of ours.
        let element = unsafe { own(api!(RedisModule_ListPop(key, HEAD))) };
        self.mark_changed();
        element
    }

    /// Puts an element before the first one of a list, which is created when the key is empty.
    pub(crate) fn list_push_first(&mut self, element: Str<'_>) -> Result<(), NotThatKind> {
        let Some(key) = self.as_ptr() else { return Err(NotThatKind) };
        // SAFETY: the handle is open for writing; another kind than a list is refused. The server
        // copies the element.
        let status = unsafe { api!(RedisModule_ListPush(key, HEAD, element.as_ptr())) };
        if status != OK {
            return Err(NotThatKind);
        }
        self.mark_changed();
        Ok(())
    }

    /// Sets `field` of a hash, which is created when the key is empty.
    pub(crate) fn hash_set(&mut self, field: Str<'_>, value: Str<'_>) -> Result<(), NotThatKind> {
        self.hash_change(field, value.as_ptr())
    }

    /// Removes `field` from a hash; the last one takes the key with it.
    pub(crate) fn hash_del(&mut self, field: Str<'_>) -> Result<(), NotThatKind> {
        self.hash_change(field, ptr::without_provenance_mut(DELETE_FIELD))
    }

    fn hash_change(
        &mut self,
        field: Str<'_>,
        value: *mut raw::RedisModuleString,
    ) -> Result<(), NotThatKind> {
        if !matches!(self.kind(), Kind::Hash | Kind::Empty) {
            return Err(NotThatKind);
        }
        let Some(key) = self.as_ptr() else { return Err(NotThatKind) };
        // SAFETY: the handle is open for writing, on a hash or on nothing; one field with its
        // value, then the null that ends the list. The server copies both.
        unsafe {
            api!(RedisModule_HashSet(
                key,
                raw::REDISMODULE_HASH_NONE as c_int,
                field.as_ptr(),
                value,
                ptr::null_mut::<raw::RedisModuleString>(),
            ))
        };
        self.mark_changed();
        Ok(())
    }

    /// Adds `member` to a sorted set, which is created when the key is empty, or moves it.
    pub(crate) fn zset_add(&mut self, score: f64, member: Str<'_>) -> Result<(), NotThatKind> {
        if !matches!(self.kind(), Kind::SortedSet | Kind::Empty) {
            return Err(NotThatKind);
        }
        let Some(key) = self.as_ptr() else { return Err(NotThatKind) };
        // SAFETY: the handle is open for writing, on a sorted set or on nothing; no flags.
        let status =
            unsafe { api!(RedisModule_ZsetAdd(key, score, member.as_ptr(), ptr::null_mut())) };
        if status != OK {
            return Err(NotThatKind);
        }
        self.mark_changed();
        Ok(())
    }

    /// Removes `member` from a sorted set; the last one takes the key with it. Was it there?
    pub(crate) fn zset_rem(&mut self, member: Str<'_>) -> bool {
        if self.kind() != Kind::SortedSet {
            return false;
        }
        let Some(key) = self.as_ptr() else { return false };
        let mut deleted: c_int = 0;
        // SAFETY: the handle is open for writing, on a sorted set.
        unsafe { api!(RedisModule_ZsetRem(key, member.as_ptr(), &mut deleted)) };
        if deleted != 0 {
            self.mark_changed();
        }
        deleted != 0
    }
}
