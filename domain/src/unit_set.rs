//! Sets of a payment's units, which have numbers from 1, as text: `1-2,5-5`.

use crate::integer;

/// A set of units, as ranges from a first to a last unit: ascending, with gaps between them. Each
/// number is 1 to 2^63 - 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitSet(Vec<(i64, i64)>);

/// Text that is no set of units as [`UnitSet::write`] writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUnits;

impl UnitSet {
    pub const EMPTY: Self = Self(Vec::new());

    /// The units from `first` to `last`; none if there is no such unit.
    pub fn between(first: i64, last: i64) -> Self {
        let first = first.max(1);
        Self(if first <= last { vec![(first, last)] } else { Vec::new() })
    }

    /// The lowest `units`.
    pub fn lowest(units: i64) -> Self {
        Self::between(1, units)
    }

    /// Those of a payment whose number of units is not known: all that there can be.
    pub fn whole() -> Self {
        Self::between(1, i64::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// First and last unit of each range, ascending: one line of refunds each.
    pub fn ranges(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().copied()
    }

    /// How many units there are, at most 2^63 - 1.
    pub fn count(&self) -> i64 {
        let sizes = self.ranges().map(|(first, last)| last.saturating_sub(first).saturating_add(1));
        sizes.fold(0, i64::saturating_add)
    }

    /// How many of the lowest units are not in the set: the next one is.
    pub fn lowest_without(&self) -> i64 {
        self.0.first().map_or(i64::MAX, |(first, _)| first.saturating_sub(1))
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut ranges: Vec<_> = self.ranges().chain(other.ranges()).collect();
        ranges.sort_unstable();
        let mut union: Vec<(i64, i64)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match union.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => union.push((first, last)),
            }
        }
        Self(union)
    }

    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::with_capacity(self.0.len());
        for (first, last) in self.ranges() {
            let mut next = Some(first);
            let cuts = other.ranges().filter(|(from, to)| *to >= first && *from <= last);
            for (from, to) in cuts {
                let until = from.saturating_sub(1);
                left.extend(next.filter(|next| *next <= until).map(|next| (next, until)));
                next = to.checked_add(1);
            }
            left.extend(next.filter(|next| *next <= last).map(|next| (next, last)));
        }
        Self(left)
    }

    /// The units that are in both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }

    /// Reads what [`Self::write`] writes, and nothing else: ranges that touch or are out of order,
    /// signs, leading zeros and blanks are refused.
    pub fn parse(text: &[u8]) -> Result<Self, NotUnits> {
        if text.is_empty() {
            return Ok(Self::EMPTY);
        }
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for range in text.split(|byte| *byte == b',') {
            let dash = range.iter().position(|byte| *byte == b'-').ok_or(NotUnits)?;
            let (first, last) = range.split_at(dash);
            let (first, last) = (number(first)?, number(last.get(1..).unwrap_or_default())?);
            let is_next = ranges.last().is_none_or(|(_, end)| first > end.saturating_add(1));
            if !is_next || first > last {
                return Err(NotUnits);
            }
            ranges.push((first, last));
        }
        Ok(Self(ranges))
    }

    /// `1-2,5-5`; nothing for no units.
    pub fn write(&self) -> String {
        let range = |(first, last): (i64, i64)| format!("{first}-{last}");
        self.ranges().map(range).collect::<Vec<_>>().join(",")
    }
}

/// A number from 1, in its one spelling.
fn number(text: &[u8]) -> Result<i64, NotUnits> {
    integer::parse(text).filter(|number| *number > 0).ok_or(NotUnits)
}

#[cfg(test)]
mod tests {
    use super::{NotUnits, UnitSet};

    fn of(bits: u8) -> UnitSet {
        let units = (1..=6).filter(|unit| bits >> (unit - 1) & 1 == 1);
        units.fold(UnitSet::EMPTY, |set, unit| set.union(&UnitSet::between(unit, unit)))
    }

    #[test]
    fn sets_are_those_of_numbers() {
        for (a, b) in (0..64).flat_map(|a| (0..64).map(move |b| (a, b))) {
            let (x, y) = (of(a), of(b));
            assert_eq!(x.union(&y), of(a | b));
            assert_eq!(x.without(&y), of(a & !b), "{x:?} {y:?}");
            assert_eq!(x.common(&y), of(a & b));
            assert_eq!((x.count(), x.is_empty()), (i64::from(a.count_ones()), a == 0));
            let lowest = if a == 0 { i64::MAX } else { i64::from(a.trailing_zeros()) };
            assert_eq!(x.lowest_without(), lowest);
            assert_eq!(UnitSet::parse(x.write().as_bytes()), Ok(x));
        }
    }

    #[test]
    fn the_greatest_units_are_units() {
        let whole = UnitSet::whole();
        assert_eq!(whole.write(), "1-9223372036854775807");
        assert_eq!(UnitSet::parse(whole.write().as_bytes()), Ok(whole.clone()));
        assert_eq!(whole.count(), i64::MAX);
        assert_eq!(whole.without(&whole), UnitSet::EMPTY);
        assert_eq!(whole.without(&UnitSet::lowest(2)), UnitSet::between(3, i64::MAX));
        assert_eq!(whole.union(&of(3)), whole);
        assert_eq!(UnitSet::between(i64::MIN, 0), UnitSet::EMPTY);
        assert_eq!(UnitSet::between(5, 4), UnitSet::EMPTY);
    }

    #[test]
    fn a_set_has_one_spelling() {
        assert_eq!(of(0b10011).write(), "1-2,5-5");
        assert_eq!(UnitSet::parse(b""), Ok(UnitSet::EMPTY));
        for text in [
            "1", "-", "1-", "-1", "0-1", "2-1", "1-2,3-4", "1-2,2-3", "4-5,1-2", "1-2,", ",1-2",
            "01-2", "1-+2", " 1-2", "1-2 ", "1-9223372036854775808", "1--2", "1-2-3", "a-b",
        ] {
            assert_eq!(UnitSet::parse(text.as_bytes()), Err(NotUnits), "{text}");
        }
    }
}
