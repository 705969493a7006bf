//! Whether the server may take keys away when memory is short.

use super::ctx::Ctx;
use super::key::ReadKey;
use super::settings::fields_of_info;
use super::string::Str;

/// What the server may evict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Eviction {
    /// The name of the policy; `unknown` where the server does not say.
    pub(crate) policy: String,
    /// Only keys with a time to live?
    pub(crate) spares_lasting: bool,
}

impl Eviction {
    /// None where the server may evict nothing: by its policy, or because its memory has no limit.
    ///
    /// By INFO, since `CONFIG` is often renamed.
    pub(crate) fn of_server(ctx: Ctx<'_>) -> Option<Self> {
        match fields_of_info(ctx, c"memory", [c"maxmemory", c"maxmemory_policy"]) {
            [Some(limit), _] if limit == "0" => None,
            [_, Some(policy)] if policy == "noeviction" => None,
            [_, Some(policy)] => {
                Some(Self { spares_lasting: policy.starts_with("volatile"), policy })
            }
            [_, None] => Some(Self { policy: "unknown".to_owned(), spares_lasting: false }),
        }
    }

    /// May it evict one of these keys?
    pub(crate) fn takes<'k>(&self, ctx: Ctx<'_>, mut keys: impl Iterator<Item = Str<'k>>) -> bool {
        let ends = |key| ReadKey::open(ctx, key).is_some_and(|key| key.ends_at_ms().is_some());
        !self.spares_lasting || keys.any(ends)
    }
}
