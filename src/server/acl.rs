//! The rules of the server's users.

use super::api::api;
use super::string::Str;
use redis_module::raw;
use std::ffi::c_int;

/// May the user of this name run a command with these words, the first of which is its name? False
/// if there is no such user any more.
pub(crate) fn may_run(user: Str<'_>, words: &[Str<'_>]) -> bool {
    // SAFETY: the name is live; null when there is no such user.
    let user = unsafe { api!(RedisModule_GetModuleUserFromUserName(user.as_ptr())) };
    if user.is_null() {
        return false;
    }
    // The API takes the vector as mutable, and only reads it.
    let words_start = words.as_ptr().cast::<*mut raw::RedisModuleString>().cast_mut();
    let count = c_int::try_from(words.len()).unwrap_or(0);
    // SAFETY: the user is live, and `words_start` points at `count` strings, a Str being one string
    // pointer.
    let status = unsafe { api!(RedisModule_ACLCheckCommandPermissions(user, words_start, count)) };
    // SAFETY: the handle was made for us and is used no more; the server's own user stays.
    unsafe { api!(RedisModule_FreeModuleUser(user)) };
    status == raw::REDISMODULE_OK as c_int
}
