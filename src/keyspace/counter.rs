//! Counter keys: which ids are taken.
//!
//! Without hash tags there is one key per day, a string as `INCR` counts it, so that our ids
//! interleave with those of other generators on the same key. With hash tags there is one key per
//! slot, which holds the last id: the slot is a part of the id, so nodes never need to ask each
//! other.

use crate::config;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::kept::Kept;
use crate::keyspace::presence::count_here;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str, WriteKey};
use crate::typed::{IdPrefix, Voucher};
use domain::hash_tag::tag_of;
use domain::integer::{self, Decimal};
use domain::key_names::COUNTER_PREFIX;
use domain::order_id::{
    Count, Id, Second, TakenIds, after_counter, after_last, check_pace, date, skip_more,
};
use domain::slot::Slot;
use std::rc::Rc;

/// How long after the last second in its ids a counter of ours expires: by then no clock is slow
/// enough to ask for that day again.
const KEPT_MS: i64 = 48 * 60 * 60 * 1000;

/// What the ids are for.
#[derive(Clone, Copy)]
pub(crate) enum IdScope<'a> {
    /// Those of a prefix, counted in the prefix's own slot.
    Prefix(IdPrefix<'a>),
    /// Those of orders, counted in the slot of this voucher.
    Voucher(Voucher<'a>),
}

/// Ids that are free. They are taken by [`FreeIds::take`], in the same command or not at all.
#[must_use]
pub(crate) struct FreeIds {
    counter: Rc<IdCounter>,
    count: Count,
    taken: TakenIds,
    write: Write,
}

enum Write {
    /// Count on by so many in place, which keeps the key's time to live.
    Add(i64),
    /// Write the key again.
    Set { expires_ms: i64 },
}

/// As [`find_next`], but skips ids for which `is_used` is true, for example because the counter was
/// deleted and starts over.
pub(crate) fn find_unused(
    kept: &Kept<IdCounter>,
    ctx: Ctx<'_>,
    scope: IdScope<'_>,
    count: Count,
    is_used: impl Fn(Id) -> Result<bool, CommandError>,
) -> Result<FreeIds, CommandError> {
    let now_ms = ctx.now_ms();
    let mut skip = 0;
    loop {
        let ids = find_next(kept, ctx, scope, now_ms, skip, count)?;
        if !ids.any(&is_used)? {
            return Ok(ids);
        }
        skip = skip_more(skip).ok_or(CommandError::IdsInUse)?;
    }
}

/// Finds the next `count` ids of a prefix, unless they exceed the pace that leaves ids for orders
/// and for the rest of the day.
pub(crate) fn find_in_pace(
    kept: &Kept<IdCounter>,
    ctx: Ctx<'_>,
    prefix: IdPrefix<'_>,
    count: Count,
) -> Result<FreeIds, CommandError> {
    let now_ms = ctx.now_ms();
    let ids = find_next(kept, ctx, IdScope::Prefix(prefix), now_ms, 0, count)?;
    let second = Second::at(now_ms, config::calendar())?;
    check_pace(second, ids.counter.kind.has_tag(), &ids.taken)?;
    Ok(ids)
}

/// Finds the next `count` consecutive ids at `now_ms`, after `skip` that are left out. Writes
/// nothing; every error with ids is found here.
fn find_next(
    kept: &Kept<IdCounter>,
    ctx: Ctx<'_>,
    scope: IdScope<'_>,
    now_ms: i64,
    skip: u32,
    count: Count,
) -> Result<FreeIds, CommandError> {
    let second = Second::at(now_ms, config::calendar())?;
    let counter = match scope {
        IdScope::Prefix(prefix) => IdCounter::of_prefix(kept, prefix, second)?,
        IdScope::Voucher(voucher) => IdCounter::of_voucher(kept, voucher, second)?,
    };
    let key = counter.key.as_str();
    if let CounterKind::Slot(slot) = counter.kind
        && config::is_cluster()
    {
        check_here(ctx, key, slot)?;
    }
    let stored = read(ctx, key)?;
    let (taken, adds) = match counter.kind {
        CounterKind::Day(_) => {
            (after_counter(second, stored.unwrap_or(0), skip, count)?, stored.is_some())
        }
        CounterKind::Slot(slot) => (after_last(second, slot, stored, skip, count)?, false),
    };
    let write = if adds {
        Write::Add(count.get().saturating_add(skip.into()))
    } else {
        // No more than 2^31 seconds are ever borrowed.
        let borrowed_ms = i64::try_from(taken.borrowed_s).unwrap_or(0).saturating_mul(1000);
        let expires_ms = now_ms.saturating_add(borrowed_ms).saturating_add(KEPT_MS);
        Write::Set { expires_ms }
    };
    Ok(FreeIds { counter, count, taken, write })
}

impl FreeIds {
    /// The counter key: what else the command writes must be other keys.
    pub(crate) fn key(&self) -> Str<'_> {
        self.counter.key.as_str()
    }

    /// Is any of the ids such a one?
    fn any(
        &self,
        is_such: impl Fn(Id) -> Result<bool, CommandError>,
    ) -> Result<bool, CommandError> {
        let steps = 0..u32::try_from(self.count.get()).unwrap_or(0);
        for id in steps.map(|steps| self.nth(steps)) {
            if is_such(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first of the ids.
    pub(crate) fn first(&self) -> Id {
        self.taken.first
    }

    /// The id so many steps behind the first.
    pub(crate) fn nth(&self, steps: u32) -> Id {
        self.taken.first.after(steps)
    }

    /// Takes the first `count` of the ids, which are not more than were asked for.
    pub(crate) fn take_first(self, ctx: Ctx<'_>, count: Count) {
        let unused = self.count.get().saturating_sub(count.get());
        let taken = self.taken.without(u32::try_from(unused).unwrap_or(0));
        let write = match self.write {
            Write::Add(by) => Write::Add(by.saturating_sub(unused)),
            set @ Write::Set { .. } => set,
        };
        Self { taken, write, ..self }.take(ctx);
    }

    /// Takes the ids; replicates and publishes that. Returns the first of them.
    pub(crate) fn take(self, ctx: Ctx<'_>) -> Id {
        let key = self.counter.key.as_str();
        let kept = Decimal::unsigned(self.taken.kept);
        match self.write {
            Write::Add(by) => {
                // The key was read in this very command. Only another module that heard of a
                // write of ours could have removed it; then the ids are free anyway.
                let written = WriteKey::open(ctx, key).overwrite_string(kept.bytes());
                if written.is_ok() {
                    Effect::Incremented { key, by }.publish(ctx);
                }
            }
            Write::Set { expires_ms } => {
                let [value, word, expiry] =
                    [kept.bytes(), b"PXAT", Decimal::new(expires_ms).bytes()].map(OwnedStr::new);
                let arguments = [key, value.as_str(), word.as_str(), expiry.as_str()];
                // Replaces whatever is there, on this node, so there is nothing to refuse.
                drop(Call::write(ctx, c"SET", &arguments));
            }
        }
        self.taken.first
    }
}

/// What a counter key holds; none when the key does not exist.
fn read(ctx: Ctx<'_>, key: Str<'_>) -> Result<Option<i64>, CommandError> {
    let Some(key) = ReadKey::open(ctx, key) else { return Ok(None) };
    let number = key.string((), |text, ()| integer::parse(text))?;
    number.map(Some).ok_or(CommandError::CounterNotInteger)
}

/// Refuses a key that may be on another node while its slot is moved. See [`super::presence`].
fn check_here(ctx: Ctx<'_>, key: Str<'_>, slot: Slot) -> Result<(), CommandError> {
    let exist = |keys: &[Str<'_>]| count_here(ctx, keys, CommandError::CounterNotHere);
    if exist(&[key])? == 0 {
        // The target of a moving slot takes one missing key for a new one, though it may still be
        // on the other node. For two keys it answers that not all of them are here.
        let other = OwnedStr::new(&slot.tag());
        exist(&[key, other.as_str()])?;
    }
    Ok(())
}

/// The name of a counter key, and what it was made of.
pub(crate) struct IdCounter {
    prefix: Vec<u8>,
    kind: CounterKind,
    key: OwnedStr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterKind {
    /// The counter of a day.
    Day(u64),
    /// The last id of a slot.
    Slot(Slot),
}

impl IdCounter {
    fn of_prefix(
        kept: &Kept<IdCounter>,
        prefix: IdPrefix<'_>,
        second: Second,
    ) -> Result<Rc<Self>, CommandError> {
        let prefix = prefix.0.bytes();
        let kind = CounterKind::now(second, prefix);
        // The tag must be the first one of the key, or the prefix's own, which has its slot.
        if kind.has_tag() && prefix.contains(&b'{') && tag_of(prefix).is_none() {
            return Err(CommandError::StrayPrefixBraces);
        }
        Ok(Self::of(kept, prefix, kind))
    }

    fn of_voucher(
        kept: &Kept<IdCounter>,
        voucher: Voucher<'_>,
        second: Second,
    ) -> Result<Rc<Self>, CommandError> {
        let kind = CounterKind::now(second, voucher.0.bytes());
        config::ID_PREFIX.with(|prefix| {
            if kind.has_tag() && prefix.contains(&b'{') {
                return Err(CommandError::BraceInPrefix);
            }
            Ok(Self::of(kept, prefix, kind))
        })
    }

    /// Costs next to nothing for the counter used last.
    fn of(kept: &Kept<IdCounter>, prefix: &[u8], kind: CounterKind) -> Rc<Self> {
        if let Some(last) = kept.get()
            && last.kind == kind
            && last.prefix == prefix
        {
            return last;
        }
        let key = match kind {
            CounterKind::Day(day) => {
                OwnedStr::new(&[COUNTER_PREFIX, prefix, b":", &date(day)].concat())
            }
            CounterKind::Slot(slot) => {
                OwnedStr::new(&[COUNTER_PREFIX, prefix, b":{", &slot.tag(), b"}"].concat())
            }
        };
        kept.keep(Self { prefix: prefix.to_vec(), kind, key })
    }
}

impl CounterKind {
    /// What counts now for ids that belong where `home` is.
    fn now(second: Second, home: &[u8]) -> Self {
        if config::hash_tags() { Self::Slot(Slot::of(home)) } else { Self::Day(second.day()) }
    }

    fn has_tag(self) -> bool {
        matches!(self, Self::Slot(_))
    }
}
