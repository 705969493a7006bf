//! Buyers of late: whom the server called a member of a buyers key a moment ago.
//!
//! Two things are remembered of a user who was found in a buyers key. A mark, which says that they
//! are *likely* to be in: it is only ever a hint of what to ask first. And, from the first user on
//! who comes back, the answer of the server itself, which holds until anything but an addition
//! happens to the key, and hardly longer than [`LEASE_MS`]. It only ever ends a losing try:
//! whatever writes asks the server.

use crate::config;
use crate::keyspace::short::Short;
use crate::server::{
    Ctx, EventClass, KeyListener, MainThread, Str, listen_to_cron, listen_to_keys,
};
use std::ffi::CStr;

/// How long an answer is believed, up to the server's next cron. An event that somebody failed to
/// fire, say another module that deletes keys without a word, is made good by then.
const LEASE_MS: i64 = 1000;

const LINES: usize = 2048;
const PLACES_A_LINE: usize = 8;

/// The marks of users seen lately, each in the line that its low bits say.
static MARKS: [Line; LINES] = [const { Line::empty() }; LINES];

/// What the server answered for the user of the mark in the same place.
static ANSWERS: [Answers; LINES] =
    [const { Answers([const { MainThread::new(Answer::NONE) }; PLACES_A_LINE]) }; LINES];

const KEYS_MAX: usize = 64;

/// The buyers keys of which answers are believed, each in the place that its hash says.
static KEYS: [MainThread<Key>; KEYS_MAX] = [const { MainThread::new(Key::NONE) }; KEYS_MAX];

/// The greatest epoch that was given out. Numbers are never given out twice.
static EPOCHS: MainThread<u64> = MainThread::new(0);

static IS_LISTENING: MainThread<bool> = MainThread::new(false);

/// Whether marks were right the last times: a counter of two bits, as processors foretell a branch.
static TRUST: MainThread<u8> = MainThread::new(TRUST_MAX);
const TRUST_MAX: u8 = 3;

/// When the lease of all answers began, by the clock of the server.
static LEASED: MainThread<i64> = MainThread::new(0);

/// From one change of a buyers key to the next. What was answered in one is void in all others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// Of an answer that was not heard, or can't be kept.
    const NONE: Self = Self(0);

    fn next() -> Self {
        // 2^64 changes take longer than any server lives.
        let next = EPOCHS.get().wrapping_add(1);
        EPOCHS.set(next);
        Self(next)
    }
}

/// How long the name of a buyers key may be, most of which is a voucher: a UUID in a hash tag fits,
/// behind a prefix of 77 bytes.
const KEY_LEN_MAX: usize = 115;

/// How long a user may be: a UUID fits.
const USER_LEN_MAX: usize = 47;

#[derive(Clone, Copy)]
struct Key {
    epoch: Epoch,
    db: i32,
    name: Short<KEY_LEN_MAX>,
}

impl Key {
    const NONE: Self = Self { epoch: Epoch::NONE, db: 0, name: Short::EMPTY };
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Answer {
    epoch: Epoch,
    user: Short<USER_LEN_MAX>,
}

impl Answer {
    const NONE: Self = Self { epoch: Epoch::NONE, user: Short::EMPTY };

    fn is_yes(&self, epoch: Epoch, user: &[u8]) -> bool {
        epoch != Epoch::NONE && self.epoch == epoch && self.user.is(user)
    }
}

struct Answers([MainThread<Answer>; PLACES_A_LINE]);

/// What the processor fetches at once. With one place for a mark, of a thousand buyers one in five
/// would share it with another, and each would put the other out.
#[repr(align(64))]
struct Line([MainThread<u64>; PLACES_A_LINE]);

impl Line {
    const fn empty() -> Self {
        Self([const { MainThread::new(0) }; PLACES_A_LINE])
    }

    fn find(&self, mark: u64) -> Option<usize> {
        // Without a branch a place: which it is can't be foretold.
        let bits = self
            .0
            .iter()
            .rev()
            .fold(0u32, |bits, place| bits << 1 | u32::from(place.get() == mark));
        (bits != 0).then(|| bits.trailing_zeros() as usize)
    }

    /// Puts a mark in an empty place, or in the one that its high bits choose. False when it is
    /// there already.
    fn put(&self, mark: u64) -> bool {
        if self.find(mark).is_some() {
            return false;
        }
        let place = self.find(0).unwrap_or((mark >> 32) as usize % PLACES_A_LINE);
        if let Some(place) = self.0.get(place) {
            place.set(mark);
        }
        true
    }
}

/// Stands for a user and a buyers key.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    both: u64,
    key: u64,
}

impl Mark {
    pub(crate) fn of(key: Str<'_>, user: Str<'_>) -> Self {
        let key = hash(0, key.bytes());
        Self { both: hash(key, user.bytes()), key }
    }

    fn line(self) -> usize {
        // The remainder of a power of two that fits usize on every machine.
        self.both as usize % LINES
    }

    /// Was this user seen to have bought not long ago? A hint: they may have been removed since,
    /// and none says nothing.
    pub(crate) fn find(self) -> Option<Place> {
        let line = self.line();
        let place = MARKS.get(line)?.find(self.both)?;
        Some(Place(ANSWERS.get(line)?.0.get(place)?))
    }

    /// Notes that the user was seen in the key. False when that was noted already.
    ///
    /// Keeps no answer: most who buy never come back, and an accepted try should not pay for a
    /// second line of the cache.
    pub(crate) fn note(self) -> bool {
        MARKS.get(self.line()).is_none_or(|line| line.put(self.both))
    }

    /// The present epoch of the key, to be asked for before the server is asked for the user.
    pub(crate) fn epoch(self, ctx: Ctx<'_>, key: Str<'_>) -> Epoch {
        if !IS_LISTENING.get() {
            return Epoch::NONE;
        }
        let Some(place) = place_of(self.key) else { return Epoch::NONE };
        let (db, name) = (ctx.selected_db(), key.bytes());
        let found = place.get();
        if found.epoch != Epoch::NONE && found.db == db && found.name.is(name) {
            return found.epoch;
        }
        let Some(name) = Short::new(name) else { return Epoch::NONE };
        let epoch = Epoch::next();
        place.set(Key { epoch, db, name });
        epoch
    }
}

/// Where the answer for a mark is kept, or that for another which had its place before.
#[derive(Clone, Copy)]
pub(crate) struct Place(&'static MainThread<Answer>);

impl Place {
    /// Keeps that the server said, in this epoch, that the user is in.
    pub(crate) fn keep(self, epoch: Epoch, user: Str<'_>) {
        if epoch != Epoch::NONE
            && let Some(user) = Short::new(user.bytes())
        {
            self.0.set(Answer { epoch, user });
        }
    }

    /// Did the server say in this epoch that the user is in?
    pub(crate) fn answers(self, epoch: Epoch, user: Str<'_>) -> bool {
        self.0.get().is_yes(epoch, user.bytes())
    }
}

/// Is who was seen to buy likely to be in? Not when a sale is opened anew and the same come again.
pub(crate) fn are_marks_right() -> bool {
    TRUST.get() > TRUST_MAX / 2
}

/// A mark was found, and turned out right or wrong.
pub(crate) fn learn(was_right: bool) {
    let trust = TRUST.get();
    TRUST.set(if was_right {
        trust.saturating_add(1).min(TRUST_MAX)
    } else {
        trust.saturating_sub(1)
    });
}

fn place_of(key: u64) -> Option<&'static MainThread<Key>> {
    KEYS.get(key as usize % KEYS_MAX)
}

/// A hash of a name, cheap and good enough for a hint: a multiply a word, of which both halves
/// count, since what differs is often the last letter, and the place is said by the low bits.
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

/// Begins to listen, if that was not done. To be called when somebody came back: where nobody
/// does, nobody pays for it. The events that any key can have come by [`changed`] and [`forget`].
///
/// Not in a cluster: a slot can leave without an event.
#[inline]
pub(crate) fn listen(ctx: Ctx<'_>) {
    if !IS_LISTENING.get() && !config::is_cluster() {
        begin(ctx);
    }
}

#[cold]
fn begin(ctx: Ctx<'_>) {
    IS_LISTENING
        .set(listen_to_cron(ctx, on_cron) && listen_to_keys::<Sets>(ctx, &[EventClass::Set]));
}

struct Sets;

impl KeyListener for Sets {
    fn heard(_ctx: Ctx<'_>, event: &CStr, key: Str<'_>) {
        // The one event that takes nobody out.
        if event != c"sadd" {
            changed(key.bytes());
        }
    }
}

/// Something happened to a key that may take users out of it, in whichever database: it may have
/// been moved there.
///
/// What makes it another type need not be told: that is seen when it is opened, and what makes it a
/// set again is told.
pub(crate) fn changed(name: &[u8]) {
    if IS_LISTENING.get()
        && let Some(place) = place_of(hash(0, name))
        && place.get().name.is(name)
    {
        place.set(Key::NONE);
    }
}

/// Something happened to whole databases.
pub(crate) fn forget() {
    for place in &KEYS {
        place.set(Key::NONE);
    }
}

fn on_cron(ctx: Ctx<'_>) {
    let now = ctx.now_ms();
    // The clock may be set back.
    if !(0..LEASE_MS).contains(&now.saturating_sub(LEASED.get())) {
        LEASED.set(now);
        forget();
    }
}

/// Forgets who listens: the module is being loaded. The server has dropped the subscriptions.
pub(crate) fn reset() {
    IS_LISTENING.set(false);
    forget();
}

#[cfg(test)]
mod tests {
    use super::{Answer, Answers, Epoch, KEYS_MAX, Key, LINES, Line, PLACES_A_LINE, Short, hash};
    use std::collections::HashMap;

    #[test]
    fn marks_tell_users_and_keys_apart() {
        let mut lines: HashMap<u64, Vec<u64>> = HashMap::new();
        for key in ["seckill:order:7", "seckill:order:8"] {
            // Such as differ in the last of eight letters only.
            for user in 10_000_000..10_004_000 {
                let mark = hash(hash(0, key.as_bytes()), user.to_string().as_bytes());
                lines.entry(mark % LINES as u64).or_default().push(mark);
            }
        }
        let kept: usize = lines.values().map(|line| line.len().min(PLACES_A_LINE)).sum();
        assert!(kept > 7_800, "of 8,000 marks {kept} find a place");
        let mut all: Vec<u64> = lines.into_values().flatten().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8_000);
        let keys = 0..KEYS_MAX as u64 / 2;
        let mut places: Vec<u64> = keys
            .map(|key| hash(0, format!("seckill:order:{key}").as_bytes()) % KEYS_MAX as u64)
            .collect();
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > KEYS_MAX / 4, "32 keys in {} places", places.len());
    }

    #[test]
    fn a_full_line_takes_one_more_mark_in_place_of_one() {
        let line = Line::empty();
        for mark in 1..=8 {
            line.put(mark << 32);
            assert!(line.find(mark << 32).is_some());
        }
        line.put(1 << 32);
        let kept = || (1..=9u64).filter(|mark| line.find(mark << 32).is_some()).count();
        assert_eq!(kept(), 8);
        line.put(9 << 32);
        assert!(line.find(9 << 32).is_some());
        assert_eq!(kept(), 8);
    }

    #[test]
    fn nothing_is_wasted() {
        // Two lines of the cache a key, one an answer.
        assert_eq!([size_of::<Key>(), size_of::<Answers>()], [128, 64 * PLACES_A_LINE]);
    }

    #[test]
    fn an_answer_is_for_one_user_in_one_epoch() {
        let user = Short::new(b"alice").expect("it fits");
        let answer = Answer { epoch: Epoch(5), user };
        assert!(answer.is_yes(Epoch(5), b"alice"));
        assert!(!answer.is_yes(Epoch(6), b"alice"));
        assert!(!answer.is_yes(Epoch(5), b"bob"));
        assert!(!Answer::NONE.is_yes(Epoch::NONE, b""));
    }
}
