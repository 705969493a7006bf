//! Fence keys: the last fencing token of a lock and the token that it was issued to, in
//! `<lock>:fence`, kept for a day after the lease.

use crate::config;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::presence::count_here;
use crate::server::{Ctx, OwnedStr, ReadKey, Str, WriteKey};
use domain::hash_tag::StrayBraces;
use domain::key_names::{FENCE_SUFFIX, companion};
use domain::lock::FenceWrite;
use domain::lock::fence::{Exhausted, Fence};

/// How long a fence key outlives the lease: long enough for any owner to have finished its work.
const OUTLIVES_MS: i64 = 86_400_000;

/// Reads a lock's fence key, from the view of a client with a token. An error if the lock can't
/// have a fence key, or if the key does not hold a fencing token.
pub(crate) fn read(ctx: Ctx<'_>, lock: Str<'_>, token: &[u8]) -> Result<Fence, CommandError> {
    let name = name(lock).map_err(|StrayBraces| CommandError::FenceStrayBraces)?;
    if config::is_cluster() {
        // The client named only the lock: while its slot moves, the two may be on different nodes.
        count_here(ctx, &[lock, name.as_str()], CommandError::LockMoved)?;
    }
    let Some(key) = ReadKey::open(ctx, name.as_str()) else { return Ok(Fence::NONE) };
    key.string(token, Fence::parse)?.ok_or(CommandError::FenceNotInteger)
}

/// Has the lock a fence key? It holds a fencing token and always has a time to live. Any other key
/// is not ours.
pub(crate) fn is_there(ctx: Ctx<'_>, lock: Str<'_>) -> bool {
    let Ok(name) = name(lock) else { return false };
    ReadKey::open(ctx, name.as_str()).is_some_and(|fence| {
        let read = || fence.string(&[][..], Fence::parse);
        fence.ends_at_ms().is_some() && read().is_ok_and(|fence| fence.is_some())
    })
}

/// The last fencing token, for show: none where there is none to be read.
pub(crate) fn peek(ctx: Ctx<'_>, lock: Str<'_>) -> Option<i64> {
    let name = name(lock).ok()?;
    let key = ReadKey::open(ctx, name.as_str())?;
    key.string(&[][..], Fence::parse).ok()??.last
}

/// Writes the fence key of a lock that is held with this token.
pub(crate) fn write(ctx: Ctx<'_>, lock: Str<'_>, token: Str<'_>, write: FenceWrite) {
    let Ok(name) = name(lock) else { return };
    let key = name.as_str();
    let mut fence = WriteKey::open(ctx, key);
    match write {
        FenceWrite::Issue { number, until_ms } => {
            let value = OwnedStr::new(&Fence::text(number, token.bytes()));
            let at_ms = until_ms.saturating_add(OUTLIVES_MS);
            // A key that is there was seen to be a string. Set anew, it would fire `new` again.
            if fence.overwrite_string(value.as_str().bytes()).is_err() {
                fence.set_string(value.as_str());
            }
            fence.set_end(at_ms);
            drop(fence);
            Effect::Set { key, value: value.as_str(), at_ms }.publish(ctx);
        }
        FenceWrite::Extend { until_ms } => {
            let at_ms = until_ms.saturating_add(OUTLIVES_MS);
            if fence.set_end(at_ms) {
                drop(fence);
                Effect::EndSet { key, at_ms }.publish(ctx);
            }
        }
    }
}

impl From<Exhausted> for CommandError {
    fn from(_: Exhausted) -> Self {
        Self::FenceExhausted
    }
}

/// The name of a lock's fence key, in the lock's slot where there are slots.
fn name(lock: Str<'_>) -> Result<OwnedStr, StrayBraces> {
    companion(lock.bytes(), FENCE_SUFFIX, config::hash_tags()).map(|name| OwnedStr::new(&name))
}
