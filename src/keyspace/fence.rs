//! Fence keys: the last fencing token of a lock, `<lock>:fence`, kept for a day after the lease.

use crate::config;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str, WriteKey};
use domain::fencing;
use domain::hash_tag::StrayBraces;
use domain::integer::{self, Decimal};
use domain::key_names::{FENCE_SUFFIX, companion};

/// How long a fence key outlives the lease: long enough for any owner to have finished its work.
const OUTLIVES_MS: i64 = 86_400_000;

/// A lock's fence key, and what it holds.
pub(crate) struct Fence {
    name: OwnedStr,
    last: Option<i64>,
}

impl Fence {
    /// Reads it. An error if the lock can't have a fence key, or if the key does not hold a fencing
    /// token.
    pub(crate) fn read(ctx: Ctx<'_>, lock: Str<'_>) -> Result<Self, CommandError> {
        let name = name(lock).map_err(|StrayBraces| CommandError::FenceStrayBraces)?;
        if config::is_cluster() {
            // The client named only the lock: while its slot moves, the two may be on different
            // nodes.
            Call::read_all(ctx, c"EXISTS", &[lock, name.as_str()])
                .map_err(|error| CommandError::of_lock_call(error, "EXISTS"))?;
        }
        let last = match ReadKey::open(ctx, name.as_str()) {
            None => None,
            Some(key) => Some(integer::parse(key.string()?).ok_or(CommandError::FenceNotInteger)?),
        };
        Ok(Self { name, last })
    }

    /// The last fencing token that was given.
    pub(crate) fn last(&self) -> Option<i64> {
        self.last
    }

    /// The fencing token for the next acquisition.
    pub(crate) fn next(&self, now_ms: i64) -> Result<i64, CommandError> {
        fencing::next(self.last, now_ms).map_err(|_| CommandError::FenceExhausted)
    }

    /// Remembers the fencing token of an acquisition whose lease ends then.
    pub(crate) fn remember(&self, ctx: Ctx<'_>, number: i64, lease_ends_at_ms: i64) {
        let (key, number) = (self.name.as_str(), OwnedStr::new(Decimal::new(number).bytes()));
        let at_ms = lease_ends_at_ms.saturating_add(OUTLIVES_MS);
        let mut fence = WriteKey::open(ctx, key);
        fence.set_string(number.as_str());
        fence.set_end(at_ms);
        drop(fence);
        Effect::Set { key, value: number.as_str(), at_ms }.publish(ctx);
    }
}

/// Extends the life of the fence key, if the lock has one, to that of the renewed lease.
pub(crate) fn extend(ctx: Ctx<'_>, lock: Str<'_>, lease_ends_at_ms: i64) {
    let Ok(name) = name(lock) else { return };
    let (key, at_ms) = (name.as_str(), lease_ends_at_ms.saturating_add(OUTLIVES_MS));
    // A fence key is an integer and always has a time to live. Any other key is not ours.
    let is_fence = ReadKey::open(ctx, key).is_some_and(|fence| {
        fence.ends_at_ms().is_some()
            && fence.string().is_ok_and(|text| integer::parse(text).is_some())
    });
    if !is_fence {
        return;
    }
    WriteKey::open(ctx, key).set_end(at_ms);
    Effect::EndSet { key, at_ms }.publish(ctx);
}

/// The last fencing token, for show: none where there is none to be read.
pub(crate) fn peek(ctx: Ctx<'_>, lock: Str<'_>) -> Option<i64> {
    let name = name(lock).ok()?;
    let key = ReadKey::open(ctx, name.as_str())?;
    integer::parse(key.string().ok()?)
}

/// The name of a lock's fence key, in the lock's slot where there are slots.
fn name(lock: Str<'_>) -> Result<OwnedStr, StrayBraces> {
    companion(lock.bytes(), FENCE_SUFFIX, config::hash_tags()).map(|name| OwnedStr::new(&name))
}
