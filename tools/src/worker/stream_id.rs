//! The ids of entries, and the few of them that a row remembers.

use std::fmt;
use std::str::FromStr;

/// The id of an entry of a stream: later entries have greater ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    pub ms: u64,
    pub seq: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct NotAnId;

impl FromStr for StreamId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (ms, seq) = text.split_once('-').ok_or(NotAnId)?;
        let number = |text: &str| text.parse().map_err(|_| NotAnId);
        Ok(Self { ms: number(ms)?, seq: number(seq)? })
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}-{}", self.ms, self.seq)
    }
}

/// How many ids a row keeps at least of each kind, once it had as many.
const KEPT: usize = 16;

/// What a row has seen of its order: its entries in the order stream and in that of give-backs.
///
/// Entries come again, and those of different streams and workers come in any order. So a row
/// remembers which it has seen, and counts: it is live when more orders than give-backs were seen.
/// Whatever the order in which the entries come, and however often, the outcome is the same. Only
/// an unmanaged voucher sells an id that was given back again, so there is one of each at most
/// elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    orders: Vec<StreamId>,
    releases: Vec<StreamId>,
}

impl Seen {
    /// From what two columns hold; what is no id there is passed over.
    pub fn parse(orders: &str, releases: &str) -> Self {
        let ids = |text: &str| {
            let mut ids: Vec<_> = text.split(' ').filter_map(|id| id.parse().ok()).collect();
            ids.sort_unstable();
            ids
        };
        Self { orders: ids(orders), releases: ids(releases) }
    }

    /// True when the entry is new.
    pub fn order(&mut self, id: StreamId) -> bool {
        let is_new = add(&mut self.orders, id);
        self.shorten();
        is_new
    }

    /// True when the entry is new.
    pub fn release(&mut self, id: StreamId) -> bool {
        let is_new = add(&mut self.releases, id);
        self.shorten();
        is_new
    }

    pub fn is_live(&self) -> bool {
        self.orders.len() > self.releases.len()
    }

    /// The latest entry in the order stream.
    pub fn last_order(&self) -> Option<StreamId> {
        self.orders.last().copied()
    }

    pub fn last_release(&self) -> Option<StreamId> {
        self.releases.last().copied()
    }

    /// What the two columns hold.
    pub fn texts(&self) -> (String, String) {
        let text =
            |ids: &[StreamId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (text(&self.orders), text(&self.releases))
    }

    /// Forgets the earliest of both kinds, as many of the one as of the other.
    fn shorten(&mut self) {
        let surplus = self.orders.len().min(self.releases.len()).saturating_sub(KEPT);
        self.orders.drain(..surplus);
        self.releases.drain(..surplus);
    }
}

/// Adds an id in its place. An id from before the first of so many was seen, and forgotten.
fn add(ids: &mut Vec<StreamId>, id: StreamId) -> bool {
    match ids.binary_search(&id) {
        Ok(_) => false,
        Err(0) if ids.len() >= KEPT => false,
        Err(place) => {
            ids.insert(place, id);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64) -> StreamId {
        StreamId { ms, seq: 0 }
    }

    #[test]
    fn ids_are_two_numbers() {
        let id: StreamId = "1795259348145-3".parse().unwrap();
        assert_eq!(id, StreamId { ms: 1_795_259_348_145, seq: 3 });
        assert_eq!(id.to_string(), "1795259348145-3");
        for wrong in ["", "1", "-", "1-", "a-1", "1-2-3"] {
            assert_eq!(wrong.parse::<StreamId>(), Err(NotAnId), "{wrong}");
        }
        assert!(StreamId { ms: 9, seq: 9 } < StreamId { ms: 10, seq: 0 });
    }

    #[test]
    fn what_comes_in_another_order_or_again_ends_the_same() {
        // Sold, given back, sold again under the same id.
        let entries = [(true, id(1)), (false, id(1)), (true, id(2))];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut seen = Seen::default();
            for index in order.into_iter().chain(order) {
                let (is_order, id) = entries[index];
                if is_order {
                    seen.order(id)
                } else {
                    seen.release(id)
                };
            }
            assert!(seen.is_live(), "{order:?}");
            assert_eq!(seen.texts(), ("1-0 2-0".to_owned(), "1-0".to_owned()));
        }
    }

    #[test]
    fn a_release_may_come_before_its_order() {
        let mut seen = Seen::default();
        assert!(seen.release(id(5)));
        assert!(!seen.is_live());
        assert!(seen.order(id(4)));
        assert!(!seen.is_live());
        assert!(!seen.order(id(4)));
    }

    #[test]
    fn columns_are_read_as_they_are_written() {
        let mut seen = Seen::default();
        assert_eq!(seen.texts(), (String::new(), String::new()));
        seen.order(id(7));
        seen.order(id(9));
        seen.release(id(8));
        let (orders, releases) = seen.texts();
        assert_eq!(Seen::parse(&orders, &releases), seen);
    }

    #[test]
    fn a_user_who_changes_their_mind_all_day_makes_no_endless_row() {
        let mut seen = Seen::default();
        for ms in 0..1_000 {
            assert!(seen.order(id(ms)));
            assert!(seen.is_live());
            assert!(seen.release(id(ms)));
            assert!(!seen.is_live());
        }
        assert!(!seen.order(id(3)), "seen long ago");
        assert!(seen.texts().0.len() < 2_048 / 2);
        assert!(seen.order(id(1_000)) && seen.is_live());
    }
}
