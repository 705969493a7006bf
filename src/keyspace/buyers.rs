//! Buyers keys: the set of users who hold a unit.
//!
//! The module API has no functions for sets, so these go by calls of the server, which replicate
//! and announce themselves, and only when they changed something.

use crate::args::User;
use crate::error::CommandError;
use crate::server::{Call, Ctx, Kind, ReadKey, Str};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A user and the buyers key that they are in or not.
pub(crate) struct Buyer<'a> {
    key: Str<'a>,
    user: User<'a>,
    /// Stands for both in [`SEEN`].
    mark: u64,
}

impl<'a> Buyer<'a> {
    pub(crate) fn new(key: Str<'a>, user: User<'a>) -> Self {
        Self { key, user, mark: mark(key.bytes(), user.0.bytes()) }
    }

    /// Was this user seen to have bought not long ago? A hint: they may have been removed since,
    /// and a no says nothing.
    pub(crate) fn was_seen(&self) -> bool {
        slot(self.mark).is_some_and(|slot| slot.load(Relaxed) == self.mark)
    }

    /// Adds the user. False, and nothing written, when already there.
    ///
    /// One call is both the question and the write, at half the cost of asking first.
    pub(crate) fn admit(&self, ctx: Ctx<'_>) -> Result<bool, CommandError> {
        let reply = Call::write(ctx, c"SADD", self.key, self.user.0)
            .map_err(|error| CommandError::of_call(error, "SADD"))?;
        if let Some(slot) = slot(self.mark) {
            slot.store(self.mark, Relaxed);
        }
        Ok(reply.integer() == 1)
    }

    /// Refuses a key that is there and no set.
    pub(crate) fn check_kind(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        match ReadKey::open(ctx, self.key) {
            Some(key) if key.kind() != Kind::Set => Err(CommandError::WrongType),
            _ => Ok(()),
        }
    }

    /// Takes the user out, if there.
    pub(crate) fn dismiss(&self, ctx: Ctx<'_>) {
        // The key is known to be a set. If the server refused all the same, there would be nothing
        // left to try.
        drop(Call::write(ctx, c"SREM", self.key, self.user.0));
    }

    /// Is the user there?
    pub(crate) fn has_bought(&self, ctx: Ctx<'_>) -> Result<bool, CommandError> {
        match Call::read(ctx, c"SISMEMBER", self.key, self.user.0) {
            Ok(reply) => Ok(reply.integer() == 1),
            Err(error) => Err(CommandError::of_call(error, "SISMEMBER")),
        }
    }
}

/// Every user. Copies the whole set.
pub(crate) fn all(ctx: Ctx<'_>, key: Str<'_>) -> Result<HashSet<Vec<u8>>, CommandError> {
    match Call::read_all(ctx, c"SMEMBERS", &[key]) {
        Ok(reply) => Ok(reply.texts().map(<[u8]>::to_vec).collect()),
        Err(error) => Err(CommandError::of_call(error, "SMEMBERS")),
    }
}

/// How many users there are.
pub(crate) fn count(ctx: Ctx<'_>, key: Str<'_>) -> Result<i64, CommandError> {
    match ReadKey::open(ctx, key) {
        None => Ok(0),
        Some(key) if key.kind() != Kind::Set => Err(CommandError::WrongType),
        Some(key) => Ok(i64::try_from(key.len()).unwrap_or(i64::MAX)),
    }
}

const SEEN_LEN: usize = 4096;

/// The marks of users seen lately, each at the place that its low bits say. Only ever a hint.
static SEEN: [AtomicU64; SEEN_LEN] = [const { AtomicU64::new(0) }; SEEN_LEN];

fn slot(mark: u64) -> Option<&'static AtomicU64> {
    // The remainder of a power of two that fits usize on every machine.
    SEEN.get(mark as usize & (SEEN_LEN - 1))
}

/// A hash of both names, cheap and good enough for a hint: a multiply and a shift a word.
fn mark(key: &[u8], user: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (key.len() as u64).wrapping_mul(ODD);
    for part in [key, user] {
        for word in part.chunks(8) {
            let mut bytes = [0; 8];
            if let Some(room) = bytes.get_mut(..word.len()) {
                room.copy_from_slice(word);
            }
            hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(ODD);
            hash ^= hash >> 32;
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{SEEN_LEN, mark};
    use std::collections::HashSet;

    #[test]
    fn marks_tell_users_and_keys_apart() {
        let mut marks = HashSet::new();
        let mut places = HashSet::new();
        for key in ["seckill:order:7", "seckill:order:8"] {
            for user in 0..10_000 {
                let mark = mark(key.as_bytes(), user.to_string().as_bytes());
                assert!(marks.insert(mark));
                places.insert(mark % SEEN_LEN as u64);
            }
        }
        assert!(places.len() > SEEN_LEN * 9 / 10, "spread over {} places", places.len());
    }
}
