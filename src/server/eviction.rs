//! Whether the server may take keys away when memory is short.

use super::call::Call;
use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::string::{OwnedStr, Str};

/// The answer of the last [`new_eviction_of_any_key`].
static SEEN: MainThread<Option<String>> = MainThread::new(None);

/// [`eviction_of_any_key`], unless it was the same at the last call: for a warning in the log,
/// which nobody needs twice.
pub(crate) fn new_eviction_of_any_key(ctx: Ctx<'_>) -> Option<String> {
    let policy = eviction_of_any_key(ctx);
    let is_new = SEEN.cloned() != policy;
    if is_new {
        SEEN.set(policy.clone());
    }
    policy.filter(|_| is_new)
}

/// The name of the policy by which the server may evict any key, also one without a time to live.
/// None when it may not: by its policy, or because its memory has no limit.
///
/// None too where `CONFIG` was renamed and nobody can tell.
pub(crate) fn eviction_of_any_key(ctx: Ctx<'_>) -> Option<String> {
    let setting = |name: &[u8]| -> Option<Vec<u8>> {
        let words = [b"GET".as_slice(), name].map(OwnedStr::new);
        let words: Vec<Str<'_>> = words.iter().map(OwnedStr::as_str).collect();
        let reply = Call::read_all(ctx, c"CONFIG", &words).ok()?;
        // The name, then the value.
        reply.texts().nth(1).map(<[u8]>::to_vec)
    };
    let policy = String::from_utf8(setting(b"maxmemory-policy")?).ok()?;
    let has_limit = setting(b"maxmemory")? != b"0";
    (has_limit && policy.starts_with("allkeys")).then_some(policy)
}
