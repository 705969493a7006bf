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
        line(self.mark).is_some_and(|line| line.has(self.mark))
    }

    /// Adds the user. False, and nothing written, when already there.
    ///
    /// One call is both the question and the write, at half the cost of asking first.
    pub(crate) fn admit(&self, ctx: Ctx<'_>) -> Result<bool, CommandError> {
        let reply = Call::write(ctx, c"SADD", self.key, self.user.0)
            .map_err(|error| CommandError::of_call(error, "SADD"))?;
        if let Some(line) = line(self.mark) {
            line.add(self.mark);
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

const LINES: usize = 2048;
const MARKS_A_LINE: usize = 8;

/// The marks of users seen lately, each in the line that its low bits say. Only ever a hint.
static SEEN: [Line; LINES] = [const { Line::empty() }; LINES];

/// What the processor fetches at once. With one place for a mark, of a thousand buyers one in five
/// would share it with another, and each would put the other out.
#[repr(align(64))]
struct Line([AtomicU64; MARKS_A_LINE]);

impl Line {
    const fn empty() -> Self {
        Self([const { AtomicU64::new(0) }; MARKS_A_LINE])
    }

    fn has(&self, mark: u64) -> bool {
        self.0.iter().any(|place| place.load(Relaxed) == mark)
    }

    /// Puts a mark first, and the oldest out.
    fn add(&self, mark: u64) {
        if self.has(mark) {
            return;
        }
        let mut moving = mark;
        for place in &self.0 {
            let next = place.load(Relaxed);
            place.store(moving, Relaxed);
            moving = next;
        }
    }
}

fn line(mark: u64) -> Option<&'static Line> {
    // The remainder of a power of two that fits usize on every machine.
    SEEN.get(mark as usize & (LINES - 1))
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
    use super::{LINES, Line, MARKS_A_LINE, mark};
    use std::collections::HashMap;

    #[test]
    fn marks_tell_users_and_keys_apart() {
        let mut lines: HashMap<u64, Vec<u64>> = HashMap::new();
        for key in ["seckill:order:7", "seckill:order:8"] {
            for user in 0..4_000 {
                let mark = mark(key.as_bytes(), user.to_string().as_bytes());
                lines.entry(mark % LINES as u64).or_default().push(mark);
            }
        }
        let kept: usize = lines.values().map(|line| line.len().min(MARKS_A_LINE)).sum();
        assert!(kept > 7_800, "of 8,000 marks {kept} find a place");
        let mut all: Vec<u64> = lines.into_values().flatten().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8_000);
    }

    #[test]
    fn a_line_keeps_the_latest_marks() {
        let line = Line::empty();
        for mark in 1..=10 {
            line.add(mark);
        }
        line.add(5);
        let kept: Vec<u64> = (1..=10).filter(|mark| line.has(*mark)).collect();
        assert_eq!(kept, (3..=10).collect::<Vec<_>>());
    }
}
