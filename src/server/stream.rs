//! Reading the entries of streams, through the handles of [`super::key`].

use super::api::api;
use super::collections::NotThatKind;
use super::key::{Kind, ReadKey};
use super::string::{OwnedStr, own};
use domain::entry_id::EntryId;
use redis_module::raw;
use std::ffi::{c_int, c_long};
use std::ptr;

const OK: c_int = raw::REDISMODULE_OK as c_int;

impl ReadKey<'_> {
    /// The fields of an entry of a stream, names and values in turn; none when there is no entry of
    /// this id.
    pub(crate) fn entry(&self, id: EntryId) -> Result<Option<Vec<OwnedStr>>, NotThatKind> {
        if self.kind() != Kind::Stream {
            return Err(NotThatKind);
        }
        let key = self.as_ptr();
        let bound = || raw::RedisModuleStreamID { ms: id.ms, seq: id.seq };
        let (mut first, mut last, mut found) = (bound(), bound(), bound());
        // SAFETY: the handle is open on a stream; both ends are in the range, and copied.
        let status =
            unsafe { api!(RedisModule_StreamIteratorStart(key, 0, &mut first, &mut last)) };
        if status != OK {
            return Err(NotThatKind);
        }
        let mut count: c_long = 0;
        // SAFETY: an iteration was begun on this handle and is not stopped yet.
        let status = unsafe { api!(RedisModule_StreamIteratorNextID(key, &mut found, &mut count)) };
        let mut fields = Vec::new();
        for _ in 0..count {
            let mut pair: [*mut raw::RedisModuleString; 2] = [ptr::null_mut(); 2];
            let [name, value] = &mut pair;
            // SAFETY: as above; behind the last field both stay null.
            unsafe { api!(RedisModule_StreamIteratorNextField(key, name, value)) };
            // SAFETY: each is a new reference of ours, or null.
            fields.extend(pair.into_iter().filter_map(|text| unsafe { own(text) }));
        }
        // SAFETY: as above; the iteration ends here.
        unsafe { api!(RedisModule_StreamIteratorStop(key)) };
        Ok((status == OK).then_some(fields))
    }
}
