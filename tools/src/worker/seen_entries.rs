//! The ids of stream entries that the row of an order remembers.

use domain::entry_id::EntryId;

/// How many ids of each kind a row keeps at least, once it has had that many.
const KEPT: usize = 16;

/// The entries of an order that its row has seen, in the order stream and in the stream of
/// releases.
///
/// Entries can be delivered repeatedly, and across streams and workers in any order. So a row
/// remembers and counts the entries that it has seen: it is live if it has seen more orders than
/// releases. The result depends neither on the order of deliveries nor on their number. Only an
/// unmanaged voucher sells a released order id again, so an order of a managed voucher has at most
/// one entry of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenEntries {
    orders: Vec<EntryId>,
    releases: Vec<EntryId>,
}

impl SeenEntries {
    /// From the texts of two columns. Words that are not ids are ignored.
    pub fn parse(orders: &str, releases: &str) -> Self {
        let ids = |text: &str| {
            let mut ids: Vec<_> =
                text.split(' ').filter_map(|id| EntryId::parse(id.as_bytes())).collect();
            ids.sort_unstable();
            ids
        };
        Self { orders: ids(orders), releases: ids(releases) }
    }

    /// True if the entry is new.
    pub fn order(&mut self, id: EntryId) -> bool {
        let is_new = add(&mut self.orders, id);
        self.shorten();
        is_new
    }

    /// True if the entry is new.
    pub fn release(&mut self, id: EntryId) -> bool {
        let is_new = add(&mut self.releases, id);
        self.shorten();
        is_new
    }

    pub fn is_live(&self) -> bool {
        self.orders.len() > self.releases.len()
    }

    /// The latest entry in the order stream.
    pub fn last_order(&self) -> Option<EntryId> {
        self.orders.last().copied()
    }

    pub fn last_release(&self) -> Option<EntryId> {
        self.releases.last().copied()
    }

    /// The texts of the two columns.
    pub fn texts(&self) -> (String, String) {
        let text =
            |ids: &[EntryId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (text(&self.orders), text(&self.releases))
    }

    /// Forgets the earliest ids, equally many of both kinds.
    fn shorten(&mut self) {
        let surplus = self.orders.len().min(self.releases.len()).saturating_sub(KEPT);
        self.orders.drain(..surplus);
        self.releases.drain(..surplus);
    }
}

/// Inserts an id in order. An id before the first of a full list was already seen and forgotten.
fn add(ids: &mut Vec<EntryId>, id: EntryId) -> bool {
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

    fn id(ms: u64) -> EntryId {
        EntryId { ms, seq: 0 }
    }

    #[test]
    fn columns_are_read_as_they_are_written() {
        let mut seen = SeenEntries::default();
        assert_eq!(seen.texts(), (String::new(), String::new()));
        seen.order(id(7));
        seen.order(id(9));
        seen.release(id(8));
        let (orders, releases) = seen.texts();
        assert_eq!(SeenEntries::parse(&orders, &releases), seen);
    }

    #[test]
    fn a_row_stays_short_however_often_its_order_is_sold_again() {
        let mut seen = SeenEntries::default();
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
