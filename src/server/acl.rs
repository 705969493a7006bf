//! The rules of the server's users.

use super::api::api;
use super::call::Call;
use super::ctx::Ctx;
use super::string::{OwnedStr, Str};
use redis_module::raw;
use std::ffi::c_int;

/// The first of `commands` that the rules of some user name, `+command` or `-command`.
///
/// Unloading a module while a rule names one of its commands leaves the rule pointing at freed
/// memory; Redis 7.0 dies at the next ACL LIST, Redis 8.10 at once.
pub(crate) fn rule_naming<'c>(ctx: Ctx<'_>, commands: &[&'c str]) -> Option<&'c str> {
    let list = OwnedStr::new(b"LIST");
    let users = Call::read_all(ctx, c"ACL", &[list.as_str()]).ok()?;
    users.texts().find_map(|user| {
        let rules = String::from_utf8_lossy(user).to_ascii_lowercase();
        commands.iter().copied().find(|command| names(&rules, command))
    })
}

fn names(rules: &str, command: &str) -> bool {
    rules.split([' ', '(', ')']).any(|rule| {
        let named = rule.strip_prefix('+').or_else(|| rule.strip_prefix('-'));
        named.is_some_and(|named| named.split('|').next() == Some(command))
    })
}

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

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_rule_names_a_command_whole() {
        let rules = "user ann on nopass ~* &* -@all +get (+lock.release ~x) +seckill.tryx";
        assert!(names(rules, "lock.release"));
        assert!(names(rules, "get"));
        assert!(!names(rules, "seckill.try"));
        assert!(!names(rules, "ann"));
    }
}
