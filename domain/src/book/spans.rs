//! Which units of a payment were refunded elsewhere.

use crate::integer::{self, Decimal};
use crate::sale::Units;

/// How many spans an order has at the most: of units that were refunded elsewhere, with others
/// between them.
pub const SPANS_MAX: usize = 4;

/// Units that follow each other, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub first: Units,
    /// Not before the first.
    pub last: Units,
}

impl Span {
    /// The units behind `kept`, up to `had`; None if there are none.
    pub fn behind(kept: Option<Units>, had: Units) -> Option<Self> {
        let first = Units::new(kept.map_or(1, |kept| kept.get().saturating_add(1)))?;
        (first <= had).then_some(Self { first, last: had })
    }

    /// `first-last`.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|byte| *byte == b'-')?;
        let (first, rest) = text.split_at_checked(dash)?;
        let units = |text: &[u8]| integer::parse(text).and_then(Units::new);
        let (first, last) = (units(first)?, units(rest.strip_prefix(b"-")?)?);
        (first <= last).then_some(Self { first, last })
    }

    pub(super) fn text(self) -> Vec<u8> {
        let [first, last] = [self.first, self.last].map(|units| Decimal::new(units.get()));
        [first.bytes(), last.bytes()].join(&b'-')
    }
}

/// Spans in their order, with units between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spans([Option<Span>; SPANS_MAX]);

impl Spans {
    pub const NONE: Self = Self([None; SPANS_MAX]);

    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    pub fn all(&self) -> impl Iterator<Item = Span> {
        self.0.into_iter().flatten()
    }

    /// With another span, which lies before all others; None if there are too many.
    pub fn before(&self, span: Span) -> Option<Self> {
        let mut first = span;
        let mut all = self.all().peekable();
        if let Some(next) =
            all.next_if(|next| next.first.get() <= span.last.get().saturating_add(1))
        {
            first.last = next.last.max(first.last);
        }
        Self::of([first].into_iter().chain(all))
    }

    /// With another span, if it lies behind all others.
    pub(super) fn behind(&self, span: Span) -> Option<Self> {
        let last = self.all().last();
        let is_behind = last.is_none_or(|it| span.first.get() > it.last.get().saturating_add(1));
        if is_behind { Self::of(self.all().chain([span])) } else { None }
    }

    fn of(mut spans: impl Iterator<Item = Span>) -> Option<Self> {
        let all = Self(std::array::from_fn(|_| spans.next()));
        spans.next().is_none().then_some(all)
    }

    /// As text: `1-2,5-5`.
    pub fn text(&self) -> Vec<u8> {
        self.all().map(Span::text).collect::<Vec<_>>().join(&b',')
    }
}

#[cfg(test)]
mod tests {
    use super::{Span, Spans};
    use crate::sale::Units;

    fn span(first: i64, last: i64) -> Span {
        let [first, last] = [first, last].map(|units| Units::new(units).unwrap());
        Span { first, last }
    }

    #[test]
    fn spans_are_put_together_from_behind() {
        let mut spans = Spans::NONE;
        assert!(spans.is_none());
        for (first, last, want) in [
            (20, 20, "20-20"),
            (18, 19, "18-20"),
            (15, 16, "15-16,18-20"),
            (11, 12, "11-12,15-16,18-20"),
            (10, 10, "10-12,15-16,18-20"),
            (8, 8, "8-8,10-12,15-16,18-20"),
        ] {
            spans = spans.before(span(first, last)).unwrap();
            assert_eq!(String::from_utf8(spans.text()).unwrap(), want);
        }
        // Other units lie between: there is no room for a fifth span.
        assert_eq!(spans.before(span(5, 6)), None);
        let joined = spans.before(span(1, 7)).unwrap();
        assert_eq!(joined.text(), b"1-8,10-12,15-16,18-20");
        assert_eq!(Spans::NONE.before(span(i64::MAX, i64::MAX)).unwrap().all().count(), 1);
    }

    #[test]
    fn the_units_of_a_release_are_those_behind_the_kept_ones() {
        let units = |units| Units::new(units);
        for (kept, had, want) in [
            (None, 1, Some((1, 1))),
            (None, 5, Some((1, 5))),
            (units(2), 5, Some((3, 5))),
            (units(4), 5, Some((5, 5))),
            (units(5), 5, None),
            (units(i64::MAX), 5, None),
        ] {
            let found = Span::behind(kept, units(had).unwrap());
            assert_eq!(found, want.map(|(first, last)| span(first, last)), "{kept:?} {had}");
        }
    }
}
