//! Marks of repeat buyers: users seen lately among the buyers of a voucher.
//!
//! A mark is a hint of what to ask first, never an answer: SISMEMBER costs less than what a try of
//! a new user needs. A wrong mark costs one call, so no event has to end it. If a sale is emptied
//! and starts over for the same users, all of their marks are wrong; so after a wrong mark none is
//! believed until one was right.

use crate::server::{MainThread, Str};

const BUCKETS: usize = 512;
const PLACES_PER_BUCKET: u16 = 31;

/// One line of the processor's cache: the latest marks of those users whose hashes choose it, each
/// in two bytes of the hash. Two users of a bucket have the same mark once in 65,536 pairs.
///
/// The first two bytes say behind which place the next mark is put: behind the latest, in place of
/// the oldest. All 64 are of one type since the processor compares them at once.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([MainThread<u16>; 1 + PLACES_PER_BUCKET as usize]);

impl Bucket {
    /// Two bytes of a hash as a mark: not zero, which is an empty place, and no number of a place.
    fn mark(bits: u16) -> u16 {
        bits.max(PLACES_PER_BUCKET + 1)
    }

    fn contains(&self, mark: u16) -> bool {
        // Without a branch per place, which can't be predicted, and in numbers of the size of a
        // mark, so that the compiler compares many at once.
        self.0.iter().fold(0, |found, place| found | u16::from(place.get() == mark)) != 0
    }

    fn put(&self, mark: u16) {
        let [latest, places @ ..] = &self.0;
        let next = latest.get() % PLACES_PER_BUCKET;
        if let Some(place) = places.get(usize::from(next)) {
            place.set(mark);
        }
        latest.set(next.saturating_add(1));
    }
}

/// All marks: 32 KiB, allocated once. Each try of somebody new touches a bucket at random, so what
/// the processor keeps near counts: with 128 KiB an accepted try took 3 percent longer.
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
        let mark = Bucket::mark((hash >> 48) as u16);
        let is_set = bucket.is_some_and(|bucket| bucket.contains(mark));
        Mark { marks: self, bucket, mark, is_set }
    }
}

/// A user of a buyers key.
#[derive(Clone, Copy)]
pub(crate) struct Mark<'m> {
    marks: &'m Marks,
    bucket: Option<&'m Bucket>,
    mark: u16,
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
            bucket.put(self.mark);
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
    use super::{Bucket, Mark, Marks, PLACES_PER_BUCKET, hash};

    fn of<'m>(marks: &'m Marks, key: &str, user: u32) -> Mark<'m> {
        marks.with_hash(hash(hash(0, key.as_bytes()), user.to_string().as_bytes()))
    }

    #[test]
    fn marks_tell_users_and_keys_apart() {
        let marks = Marks::new();
        // Users that differ in the last of eight digits only.
        for user in 10_000_000..10_008_000 {
            of(&marks, "seckill:order:7", user).note(false);
        }
        let set = |key, users: std::ops::Range<u32>| {
            users.filter(|user| of(&marks, key, *user).is_set).count()
        };
        let kept = set("seckill:order:7", 10_000_000..10_008_000);
        assert!(kept > 7_900, "of 8,000 marks {kept} are kept");
        let wrong = set("seckill:order:7", 20_000_000..20_100_000);
        assert!(wrong < 100, "of 100,000 others {wrong} seem to be marked");
        let wrong = set("seckill:order:8", 10_000_000..10_008_000);
        assert!(wrong < 20, "of 8,000 of another key {wrong} seem to be marked");
    }

    #[test]
    fn a_full_bucket_replaces_the_oldest_mark() {
        assert_eq!([size_of::<Bucket>(), align_of::<Bucket>()], [64, 64]);
        let bucket = Bucket::default();
        let marks: Vec<u16> = (1000..1100).collect();
        for count in 1..=marks.len() {
            bucket.put(marks[count - 1]);
            let kept = marks.iter().copied().filter(|mark| bucket.contains(*mark));
            let oldest = count.saturating_sub(PLACES_PER_BUCKET.into());
            assert_eq!(kept.collect::<Vec<_>>(), marks[oldest..count]);
        }
        // What else is in a bucket is no mark.
        let all = (0..=u16::MAX).filter(|bits| bucket.contains(Bucket::mark(*bits)));
        assert_eq!(all.count(), usize::from(PLACES_PER_BUCKET));
    }

    #[test]
    fn wrong_marks_are_not_believed() {
        let marks = Marks::new();
        let [alice, bob] = [100 << 48, 200 << 48];
        assert!(!marks.with_hash(alice).is_believed());
        for user in [alice, bob] {
            marks.with_hash(user).note(false);
            assert!(marks.with_hash(user).is_believed());
        }
        // The buyers were emptied, and alice buys again.
        marks.with_hash(alice).note(false);
        assert!(!marks.with_hash(bob).is_believed());
        // She tries again, and her mark is right.
        marks.with_hash(alice).note(true);
        assert!(marks.with_hash(bob).is_believed());
    }
}
