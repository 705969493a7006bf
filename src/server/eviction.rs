//! Whether the server may take keys away when memory is short.

use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::settings::fields_of_info;

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

/// The name of the policy by which the server may evict any key, also one without a time to live;
/// `unknown` where it does not say. None when it may not: by its policy, or because its memory has
/// no limit.
///
/// By INFO, since `CONFIG` is often renamed.
pub(crate) fn eviction_of_any_key(ctx: Ctx<'_>) -> Option<String> {
    match fields_of_info(ctx, c"memory", [c"maxmemory", c"maxmemory_policy"]) {
        [Some(limit), _] if limit == "0" => None,
        [_, Some(policy)] => policy.starts_with("allkeys").then_some(policy),
        [_, None] => Some("unknown".to_owned()),
    }
}
