//! Ids of orders: 63 bits, unique as long as the counter of their day is not lost, and growing as
//! long as the clock is not set back.
//!
//! | form | above | in the middle | below |
//! | --- | --- | --- | --- |
//! | standalone | 31 bits: the second | | 32 bits: the day's counter |
//! | cluster | 31 bits: the second | 14 bits: the slot | 18 bits: the sequence in the second |

use super::integer::Decimal;
use super::slot::Slot;
use std::num::NonZeroU32;

const COUNTER_BITS: u32 = 32;
const SEQUENCE_BITS: u32 = 18;

/// The greatest second that an id can contain: 68 years after the epoch.
const SECONDS_MAX: u64 = (1 << 31) - 1;
/// The greatest counter of a day that an id can contain.
pub const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;
const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// An id, below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u64);

impl Id {
    pub fn text(self) -> Decimal {
        Decimal::unsigned(self.0)
    }

    /// The id this many steps after this one, within one block of ids.
    pub fn after(self, steps: u32) -> Self {
        Self(self.0.saturating_add(u64::from(steps)))
    }
}

/// How many ids may be taken at once. Small enough that one second of a slot has this many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(NonZeroU32);

impl Count {
    pub const ONE: Self = Self(NonZeroU32::MIN);
    pub const MAX: i64 = 65_536;

    /// None if `count` is below 1 or above [`Count::MAX`].
    pub fn new(count: i64) -> Option<Self> {
        let count = u32::try_from(count).ok().filter(|count| i64::from(*count) <= Self::MAX)?;
        NonZeroU32::new(count).map(Self)
    }

    pub fn get(self) -> i64 {
        i64::from(self.0.get())
    }

    fn ids(self) -> u64 {
        u64::from(self.0.get())
    }
}

/// Why there is no next id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoId {
    /// The clock is before the epoch, or more than 68 years after it.
    OutOfTime,
    /// The counter key's value was not written by this counter.
    Foreign,
    /// The counter has not enough ids left.
    UsedUp,
    /// The counter is so far ahead of the clock that orders would lack ids.
    TooFast,
}

/// How seconds are counted: since which epoch, and how far local time is ahead of UTC.
#[derive(Clone, Copy, Debug)]
pub struct Calendar {
    pub epoch_s: i64,
    pub utc_offset_s: i64,
}

/// The second in which an id is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    since_epoch: u64,
    day: u64,
    of_day: u64,
}

impl Second {
    /// The second of `now_ms`, unix time.
    pub fn at(now_ms: i64, calendar: Calendar) -> Result<Self, NoId> {
        let local = now_ms.div_euclid(1000).saturating_add(calendar.utc_offset_s);
        let since_epoch = u64::try_from(local.saturating_sub(calendar.epoch_s)).ok();
        let since_epoch = since_epoch.filter(|seconds| *seconds <= SECONDS_MAX);
        match (since_epoch, u64::try_from(local)) {
            (Some(since_epoch), Ok(local)) => {
                Ok(Self { since_epoch, day: local / 86_400, of_day: local % 86_400 })
            }
            _ => Err(NoId::OutOfTime),
        }
    }

    /// The day on the local calendar, counted from 1970-01-01.
    pub fn day(self) -> u64 {
        self.day
    }
}

/// The next ids of a counter.
#[derive(Debug, PartialEq, Eq)]
pub struct TakenIds {
    /// The first id; the others follow it without gaps.
    pub first: Id,
    /// The new value of the counter key.
    pub kept: u64,
    /// How far the ids are ahead of the clock.
    pub borrowed_s: u64,
}

impl TakenIds {
    /// The ids without the last `unused` ones, as if fewer had been requested.
    #[must_use]
    pub fn without(self, unused: u32) -> Self {
        Self { kept: self.kept.saturating_sub(u64::from(unused)), ..self }
    }
}

/// How many ids may be skipped for one order: more than a server generates per second, and few
/// compared with a day's ids.
const SKIP_MAX: u32 = (1 << 17) - 1;

/// How many ids to skip at the next attempt, after one that skipped this many and found a used id.
/// Doubles, so that few attempts pass any run of used ids. None if so many ids are used that a
/// client seems to exhaust the counter on purpose.
pub fn skip_more(skip: u32) -> Option<u32> {
    skip.checked_mul(2)?.checked_add(1).filter(|skip| *skip <= SKIP_MAX)
}

/// How far ids that are requested without an order may be ahead of their pace: a burst.
const AHEAD_MAX: u64 = 1 << 24;
/// The pace of a day's counter, in ids per second. Together with the burst, four fifths of a day's
/// ids.
const PACE: u64 = 40_000;
/// The limit for the cluster form, where ids borrow later seconds: an eighth of all seconds.
const BORROWED_S_MAX: u64 = 1 << 28;

/// Refuses ids that are taken too fast if they are requested without an order: the last fifth of a
/// day's counter, and most of the later seconds, are reserved for orders, and no burst takes the
/// ids of the rest of the day.
///
/// A clock that was set back also borrows seconds, possibly years of them.
pub fn check_pace(second: Second, is_slot: bool, taken: &TakenIds) -> Result<(), NoId> {
    let is_in_time = if is_slot {
        taken.borrowed_s <= BORROWED_S_MAX
    } else {
        taken.kept <= AHEAD_MAX.saturating_add(second.of_day.saturating_mul(PACE))
    };
    if is_in_time { Ok(()) } else { Err(NoId::TooFast) }
}

/// The next `count` ids of the standalone form, after `skip` ids that are left out. `counter` is
/// the day's, as `INCR` counts it.
pub fn after_counter(
    second: Second,
    counter: i64,
    skip: u32,
    count: Count,
) -> Result<TakenIds, NoId> {
    let counter = u64::try_from(counter).map_err(|_| NoId::Foreign)?;
    let last = counter.checked_add(skip.into()).ok_or(NoId::UsedUp)?;
    let kept = last.checked_add(count.ids()).filter(|kept| *kept <= COUNTER_MAX);
    let kept = kept.ok_or(NoId::UsedUp)?;
    let first = last.saturating_add(1);
    Ok(TakenIds { first: Id((second.since_epoch << COUNTER_BITS) | first), kept, borrowed_s: 0 })
}

/// The next `count` ids of the cluster form, after the last id of this slot, if any, and `skip` ids
/// that are left out.
///
/// All have the same second: the current one or, if the last id is ahead of the clock or its second
/// has too few ids left, the last id's second or the next one.
pub fn after_last(
    second: Second,
    slot: Slot,
    last: Option<i64>,
    skip: u32,
    count: Count,
) -> Result<TakenIds, NoId> {
    let last = last.map(|last| u64::try_from(last).map_err(|_| NoId::Foreign)).transpose()?;
    let now = second.since_epoch;
    let place = match last.map(|last| (last >> COUNTER_BITS, last & SEQUENCE_MAX)) {
        Some((seconds, sequence)) if seconds >= now => place(seconds, sequence).saturating_add(1),
        _ => place(now, 0),
    };
    let place = place.saturating_add(skip.into());
    let (mut seconds, mut sequence) = (place >> SEQUENCE_BITS, place & SEQUENCE_MAX);
    let others = count.ids().saturating_sub(1);
    if sequence.saturating_add(others) > SEQUENCE_MAX {
        (seconds, sequence) = (seconds.saturating_add(1), 0);
    }
    if seconds > SECONDS_MAX {
        return Err(NoId::UsedUp);
    }
    let first = (seconds << COUNTER_BITS) | (u64::from(slot.number()) << SEQUENCE_BITS) | sequence;
    Ok(TakenIds {
        first: Id(first),
        kept: first.saturating_add(others),
        borrowed_s: seconds.saturating_sub(now),
    })
}

/// A position among the sequences of all seconds. Far below 2^64, since seconds are below 2^32.
fn place(seconds: u64, sequence: u64) -> u64 {
    (seconds << SEQUENCE_BITS) | sequence
}

/// The date `yyyy:MM:dd` of a day counted from 1970-01-01, in years of four digits.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`. Years
/// begin in March there, so that the leap day is a year's last, and the calendar repeats every
/// 400 years (an era) of 146,097 days.
#[allow(clippy::arithmetic_side_effects, reason = "a day of Second is below 2^33 / 86400")]
pub fn date(day: u64) -> [u8; 10] {
    // Day 0 of the algorithm is 0000-03-01.
    let day = day.min(2_932_896) + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let digit = |number: u64, unit: u64| b'0' + (number / unit % 10) as u8;
    [
        digit(year, 1000),
        digit(year, 100),
        digit(year, 10),
        digit(year, 1),
        b':',
        digit(month, 10),
        digit(month, 1),
        b':',
        digit(day_of_month, 10),
        digit(day_of_month, 1),
    ]
}

#[cfg(test)]
mod tests;
