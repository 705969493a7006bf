//! Handles entries that can't be written: they stay pending and are retried with growing waits.
//! Only malformed entries become dead letters by themselves, and nothing is released for them.

use std::time::{Duration, Instant};

use crate::order_events::{Order, StreamEntry};
use domain::entry_id::EntryId;
use seckill_tools::back_off::back_off;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{debug, error, info, warn};

use crate::batch::{Event, Outcome, Why};
use crate::deliver::place;
use crate::retry::Pending;
use crate::settings;
use crate::source::{Source, Which};
use crate::stream_consumer::{Halt, StreamConsumer};
use crate::totals::Count;

/// How often `--once` tries a refused entry before it ends.
const ONCE_TRIES: u64 = 3;

impl StreamConsumer {
    /// Opens the circuit breaker when the database refuses everything, and closes it after a write.
    pub(crate) fn note_refusals(&mut self, done: &[(Event, Outcome)]) {
        let stream = &self.streams.orders;
        if done.iter().any(|(_, outcome)| !matches!(outcome, Outcome::Failed(_))) {
            self.last_written = Some(Instant::now());
            if self.breaker.written() {
                info!("the database accepts orders again: reading {stream} again");
            }
        } else {
            for (event, outcome) in done {
                let Outcome::Failed(Why::Refused(reason)) = outcome else { continue };
                let (which, id) = place(event);
                if self.breaker.refused(which, id) {
                    error!(
                        "the database refuses everything, so reading of {stream} has stopped; \
                         nothing is released, and the entries already read stay pending: {}",
                        sanitize(reason)
                    );
                }
            }
        }
        self.totals.intake(stream, !self.breaker.is_open());
    }

    /// Leaves an entry pending and schedules a retry, with growing waits.
    pub(crate) async fn refuse(
        &mut self,
        source: &mut Source,
        which: Which,
        id: EntryId,
        order: Option<&Order>,
        reason: &str,
    ) -> Result<(), Halt> {
        let now = Instant::now();
        let refusal = self.refusals.add(which, id, now);
        let is_hopeless = |after| {
            // The entry is at fault only if the database has accepted others since.
            now - refusal.since >= after && self.last_written >= Some(refusal.since)
        };
        if let Some(order) = order.filter(|order| order.deadline_ms.is_some())
            && self.options.reject_after.is_some_and(is_hopeless)
            && source.reject_unsold(id, &order.key, &order.user, reason).await?
        {
            warn!("held order {id} of {} is rejected: {}", source.name(which), sanitize(reason));
            self.left(which, id);
            return Ok(());
        }
        let name = source.name(which);
        let refused = format!("entry {id} of {name} can't be written and stays pending");
        if refusal.times == 1 {
            warn!("{refused}: {}", sanitize(reason));
        } else {
            debug!("{refused}, tried {} times: {}", refusal.times, sanitize(reason));
        }
        if self.options.once && refusal.times >= ONCE_TRIES {
            return Ok(());
        }
        let first = Duration::from_millis(self.options.retry_ms);
        // Retry before another worker takes the entry over.
        let wait = back_off(first, refusal.times).min((self.options.claim_after() / 2).max(first));
        self.retries.add(which, id, now + wait, Pending::Refused);
        Ok(())
    }

    pub(crate) async fn refuse_event(
        &mut self,
        source: &mut Source,
        event: &Event,
        why: &Why,
    ) -> Result<(), Halt> {
        let (which, id) = place(event);
        self.stop_at(which, id, why);
        let order = match event {
            Event::Order(order, _) => Some(order),
            Event::Confirmation(_) | Event::Release(_) => None,
        };
        self.refuse(source, which, id, order, &reason(why)).await
    }

    /// Makes malformed entries dead letters, unless this worker's own settings are wrong. Nothing
    /// is released, since no try has written them.
    pub(crate) async fn bury(
        &mut self,
        source: &mut Source,
        malformed: Vec<(Which, StreamEntry, String)>,
    ) -> Result<(), Halt> {
        if !malformed.is_empty() {
            settings::compare(source.connection(), &self.options).await??;
        }
        for (which, entry, reason) in malformed {
            let (id, name) = (entry.id, source.name(which).to_owned());
            match source.bury(which, &entry, &reason).await {
                Ok(true) => {
                    warn!(
                        "entry {id} of {name} is malformed and was moved to the dead letters: \
                           {reason}"
                    );
                    self.left(which, id);
                }
                Ok(false) => {}
                // The entry stays pending and blocks no other.
                Err(error) if trouble(&error) == Trouble::Wrong => {
                    let told = format!("{reason}; no dead letter can be made: {}", told(&error));
                    self.refuse(source, which, id, None, &told).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// An entry has become a dead letter.
    fn left(&mut self, which: Which, id: EntryId) {
        self.forget(which, id);
        self.totals.add(Count::Rejected, 1);
        if which == Which::Orders {
            self.totals.add(Count::Orders, 1);
        }
    }

    pub(crate) async fn refuse_order(
        &mut self,
        source: &mut Source,
        order: &Order,
        why: &Why,
    ) -> Result<(), Halt> {
        self.stop_at(Which::Orders, order.id, why);
        self.refuse(source, Which::Orders, order.id, Some(order), &reason(why)).await
    }

    /// A statement of the shop changed no row: the shop's tables and the sale disagree, and a
    /// person must look before more is written.
    fn stop_at(&mut self, which: Which, id: EntryId, why: &Why) {
        let Why::Unchanged(text) = why else { return };
        if self.breaker.unchanged(which, id) {
            let stream = &self.streams.orders;
            error!(
                "entry {id}: {}; reading of {stream} has stopped until it is written",
                sanitize(text)
            );
        }
        self.totals.intake(&self.streams.orders, false);
    }

    /// The entry is written, became a dead letter, or is another worker's.
    pub(crate) fn forget(&mut self, which: Which, id: EntryId) {
        self.refusals.forget(which, id);
        if self.breaker.gone(which, id) {
            info!("reading {} again", self.streams.orders);
        }
    }
}

/// Why an entry could not be written.
fn reason(why: &Why) -> String {
    match why {
        Why::OtherUser => "the order id belongs to another user's order".to_owned(),
        Why::HasOther(other) => format!("the user has another order of this voucher: {other}"),
        Why::Refused(text) => format!("the database refuses it: {text}"),
        Why::Unchanged(text) => text.clone(),
    }
}
