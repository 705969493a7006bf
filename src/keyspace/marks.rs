//! Marks of repeat buyers: users seen lately among the buyers of a voucher.
//!
//! A mark is a hint of what to ask first and never an answer: asking SISMEMBER costs less than
//! what a try of somebody new needs. A wrong mark costs one call, so no event has to end it. Where
//! a sale is emptied and begins anew for the same users all of theirs are wrong, so after a wrong
//! one none is believed until one was right.

use crate::server::{MainThread, Str};

const BUCKETS: usize = 2048;
const PLACES_PER_BUCKET: usize = 8;

/// One line of the processor's cache. With one place per mark, of a thousand buyers one in five
/// would share it with another, and each would evict the other.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([MainThread<u64>; PLACES_PER_BUCKET]);

impl Bucket {
    fn contains(&self, hash: u64) -> bool {
        // Without a branch per place: which one it is can't be predicted.
        self.0.iter().fold(false, |found, place| found | (place.get() == hash))
    }

    /// Puts a mark that it does not contain in an empty place, or in the one that its high bits
    /// choose.
    fn put(&self, hash: u64) {
        let empty = self.0.iter().position(|place| place.get() == 0);
        if let Some(place) = self.0.get(empty.unwrap_or((hash >> 32) as usize % PLACES_PER_BUCKET))
        {
            place.set(hash);
        }
    }
}

/// All marks: 128 KiB, allocated once.
pub(crate) struct Marks {
    buckets: Box<[Bucket]>,
    /// The mark that was compared last with what the server said was right.
    are_right: MainThread<bool>,
}

impl Marks {
    pub(crate) fn new() -> Self {
        let buckets = (0..BUCKETS).map(|_| Bucket::default()).collect();
        Self { buckets, are_right: MainThread::new(true) }
    }

    /// The mark of a user of a buyers key, set or not.
    pub(crate) fn of(&self, key: Str<'_>, user: Str<'_>) -> Mark<'_> {
        self.with_hash(hash(hash(0, key.bytes()), user.bytes()))
    }

    fn with_hash(&self, hash: u64) -> Mark<'_> {
        // The remainder of a power of two that fits usize on every machine.
        let bucket = self.buckets.get(hash as usize % BUCKETS);
        let is_set = bucket.is_some_and(|bucket| bucket.contains(hash));
        Mark { marks: self, bucket, hash, is_set }
    }
}

/// A user of a buyers key.
#[derive(Clone, Copy)]
pub(crate) struct Mark<'m> {
    marks: &'m Marks,
    bucket: Option<&'m Bucket>,
    hash: u64,
    is_set: bool,
}

impl Mark<'_> {
    /// Is the user probably among the buyers? No says nothing.
    pub(crate) fn is_believed(self) -> bool {
        self.is_set && self.marks.are_right.get()
    }

    /// Notes that the user is among the buyers, and whether they were before.
    pub(crate) fn note(self, were_before: bool) {
        if self.is_set {
            self.marks.are_right.set(were_before);
        } else if let Some(bucket) = self.bucket {
            bucket.put(self.hash);
        }
    }
}

/// A hash of a name, cheap and good enough for a hint: one multiplication per word, of which both
/// halves count, since names often differ in the last letter only and the low bits choose the
/// bucket.
fn hash(seed: u64, name: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    name.chunks(8).fold(seed ^ name.len() as u64, |hash, word| {
        let mut bytes = [0; 8];
        if let Some(room) = bytes.get_mut(..word.len()) {
            room.copy_from_slice(word);
        }
        // The sum keeps zeros from vanishing in the product.
        let mixed = (hash ^ u64::from_le_bytes(bytes)).wrapping_add(ODD);
        let product = u128::from(mixed).wrapping_mul(u128::from(ODD));
        (product as u64) ^ (product >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Bucket, Marks, PLACES_PER_BUCKET, hash};
    use std::collections::HashMap;

    #[test]
    fn marks_tell_users_and_keys_apart() {
        let mut buckets: HashMap<u64, Vec<u64>> = HashMap::new();
        for key in ["seckill:order:7", "seckill:order:8"] {
            // Users that differ in the last of eight digits only.
            for user in 10_000_000..10_004_000 {
                let mark = hash(hash(0, key.as_bytes()), user.to_string().as_bytes());
                buckets.entry(mark % BUCKETS as u64).or_default().push(mark);
            }
        }
        let kept: usize = buckets.values().map(|marks| marks.len().min(PLACES_PER_BUCKET)).sum();
        assert!(kept > 7_800, "of 8,000 marks {kept} find a place");
        let mut all: Vec<u64> = buckets.into_values().flatten().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8_000);
    }

    #[test]
    fn a_full_bucket_replaces_one_mark() {
        let bucket = Bucket::default();
        for mark in 1..=8 {
            bucket.put(mark << 32);
            assert!(bucket.contains(mark << 32));
        }
        let kept = || (1..=9u64).filter(|mark| bucket.contains(mark << 32)).count();
        assert_eq!(kept(), 8);
        bucket.put(9 << 32);
        assert!(bucket.contains(9 << 32));
        assert_eq!(kept(), 8);
    }

    #[test]
    fn wrong_marks_are_not_believed() {
        let marks = Marks::new();
        let [alice, bob] = [1, 2];
        assert!(!marks.with_hash(alice).is_believed());
        for user in [alice, bob] {
            marks.with_hash(user).note(false);
            assert!(marks.with_hash(user).is_believed());
        }
        // The buyers were emptied, and alice buys again.
        marks.with_hash(alice).note(false);
        assert!(!marks.with_hash(bob).is_believed());
        // She comes back, and her mark is right.
        marks.with_hash(alice).note(true);
        assert!(marks.with_hash(bob).is_believed());
    }
}
