//! What a worker has read and not finished. It outlives connections: an order that was read once is
//! written, whatever becomes of the consumer's list of pending entries.

use std::collections::VecDeque;

use crate::batch::{Outcome, Sole, Why};
use crate::ending::Place;
use crate::options::OrderFields;
use crate::order_events::{Event, Kind};
use crate::stream_entry::{StreamEntry, Which};

/// An entry that can't be written now.
#[derive(Clone, Debug)]
pub struct Bad {
    pub place: Place,
    /// What it says, if it could be read.
    pub event: Option<Event>,
    /// The order that it is about, as the entry has it, if no row can have such ids.
    pub raw: Option<RawOrder>,
    pub why: Why,
}

impl Bad {
    pub fn voucher(&self) -> &[u8] {
        let of_event = self.event.as_ref().map(|event| event.key.voucher.as_bytes());
        of_event.or(self.raw.as_ref().map(|raw| &*raw.voucher)).unwrap_or_default()
    }

    pub fn is_held(&self) -> bool {
        let kind = self.event.as_ref().map(|event| &event.kind);
        matches!(kind, Some(Kind::Order { deadline_ms: Some(_) }))
    }
}

/// An order by the bytes of its entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawOrder {
    pub voucher: Vec<u8>,
    /// Empty if the entry names no sale.
    pub sale: String,
    pub user: Vec<u8>,
    pub order: Vec<u8>,
}

impl RawOrder {
    /// None if it can't be read.
    pub fn of(which: Which, entry: &StreamEntry, names: &[OrderFields]) -> Option<Self> {
        let order = entry.read(which, names).ok()?.order;
        let [voucher, user, id] = [order.voucher, order.user, order.id].map(<[u8]>::to_vec);
        let sale = order.sale.map_or_else(String::new, |sale| sale.get().to_string());
        Some(Self { voucher, sale, user, order: id })
    }
}

/// A part of a batch that is committed in one transaction.
#[derive(Debug)]
pub struct Piece {
    pub events: Vec<(Event, Sole)>,
    pub tries: u32,
}

#[derive(Debug, Default)]
pub struct Hand {
    /// Events, before the limits of their vouchers are known.
    pub read: Vec<Event>,
    /// To be committed.
    pub pieces: Vec<Piece>,
    /// Tried, and not acknowledged.
    pub done: Vec<(Event, Outcome)>,
    /// Entries that no command appends.
    pub malformed: VecDeque<(Which, StreamEntry, String)>,
    pub bad: VecDeque<Bad>,
    /// Confirmations and releases whose order can't have a row.
    pub rowless: Vec<(Place, RawOrder)>,
}
