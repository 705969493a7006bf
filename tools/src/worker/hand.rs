//! What a worker has read and not finished. It outlives connections: an order that was read once is
//! written, whatever becomes of the consumer's list of pending entries.

use std::collections::BTreeSet;

use crate::ending::{Cause, End, Place};
use crate::finishing::Finisher;
use crate::halt::Halt;
use crate::letters::buried;
use crate::options::OrderFields;
use crate::order_events::{Event, RawOrder, StreamEntry, Unfit, Which};
use crate::source::Source;
use crate::source::reply::Claimed;
use crate::writing::Writer;

pub struct Hand {
    pub writer: Writer,
    pub finisher: Finisher,
    /// The names of an entry's fields.
    pub fields: Vec<OrderFields>,
    /// Entries that were deleted while they were pending: the group has forgotten them.
    deleted: BTreeSet<Place>,
}

impl Hand {
    pub fn new(writer: Writer, finisher: Finisher) -> Self {
        Self { writer, finisher, fields: Vec::new(), deleted: BTreeSet::new() }
    }

    /// Takes entries in hand, and finishes all that is there. After an error, what is not finished
    /// stays in hand.
    pub async fn take(
        &mut self,
        source: &mut Source,
        which: Which,
        claimed: Claimed,
    ) -> Result<(), Halt> {
        claimed.deleted.into_iter().for_each(|id| self.add_deleted((which, id)));
        for id in claimed.others {
            self.not_pending(source, (which, id)).await?;
        }
        claimed.entries.into_iter().for_each(|entry| self.add(which, entry));
        self.finish(source).await
    }

    pub fn add(&mut self, which: Which, entry: StreamEntry) {
        let unfit = match Event::parse(which, &entry, &self.fields) {
            Ok(event) if self.finisher.joins(&event) => return,
            Ok(event) => return self.writer.add(event),
            Err(unfit) => unfit,
        };
        let place = (which, entry.id);
        match unfit {
            Unfit::Garbled(why) => self.finisher.add_malformed(which, entry, why),
            Unfit::Foreign(why) => self.finisher.add_unfit(place, None, why),
            Unfit::Unstorable(why) => {
                let raw = RawOrder::of(which, &entry, &self.fields);
                self.finisher.add_unfit(place, raw, why);
            }
        }
    }

    /// Finishes what is in hand, step by step.
    pub async fn finish(&mut self, source: &mut Source) -> Result<(), Halt> {
        self.end_deleted(source).await?;
        self.writer.write(source).await?;
        self.finisher.finish(source, &mut self.writer).await
    }

    /// An entry that is aside is not pending for this consumer any more. What it says is written,
    /// unless a person has made it a dead letter.
    async fn not_pending(&mut self, source: &mut Source, place: Place) -> Result<(), Halt> {
        let (which, id) = place;
        if self.writes_aside(place) {
            Ok(())
        } else if buried(source, which, &BTreeSet::from([id])).await?.contains(&id) {
            self.finisher.ended(source, &[(place, End::DeadLetter)]).await
        } else if let Some(entry) = source.entry(which, id).await? {
            self.add(which, entry);
            Ok(())
        } else if source.deliveries(which, id).await?.is_some() {
            // Another worker has it.
            self.finisher.forget(place);
            Ok(())
        } else {
            self.add_deleted(place);
            Ok(())
        }
    }

    /// An entry was deleted from the stream while it was pending. What it says is written if it is
    /// in hand.
    fn add_deleted(&mut self, place: Place) {
        if !self.writes_aside(place) {
            self.deleted.insert(place);
        }
    }

    /// Ends what was deleted: a worker may have died between writing and acknowledging it.
    async fn end_deleted(&mut self, source: &mut Source) -> Result<(), Halt> {
        if self.deleted.is_empty() {
            return Ok(());
        }
        let places = &self.deleted;
        let about = "rows of deleted entries";
        let looked = self.writer.look(about, async |rows| rows.with_rows(places).await);
        // A worker that ends meanwhile tells them as lost: nobody else knows of them.
        let (found, looked) = match looked.await {
            Ok(found) => (found.unwrap_or_default(), Ok(())),
            Err(halt) => (BTreeSet::new(), Err(halt)),
        };
        let end = |place: &Place| match found.contains(place) {
            true => (*place, End::Row),
            false => (*place, End::Lost(Cause::Deleted)),
        };
        let ended: Vec<_> = self.deleted.iter().map(end).collect();
        self.finisher.ended(source, &ended).await?;
        self.deleted.clear();
        looked
    }

    /// Has what is aside written: it is in hand, whatever became of the entry. False if it is not.
    fn writes_aside(&mut self, place: Place) -> bool {
        let event = self.finisher.aside().event(place).cloned();
        let has_it = event.is_some();
        event.into_iter().for_each(|event| self.writer.add(event));
        has_it
    }
}
