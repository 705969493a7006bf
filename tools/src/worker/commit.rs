//! Commits batches: waits while the database is down, and finds the data that it refuses, so that
//! the rest of the batch is committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seckill_tools::back_off::back_off;
use seckill_tools::sanitize::sanitize;
use tracing::{debug, error, info, warn};

use crate::batch::{Outcome, Row, Why};
use crate::book::Asker;
use crate::halt::{Halt, Stop, rest};
use crate::hand::Piece;
use crate::marks::{self, Marks, Meaning};
use crate::order_events::Event;
use crate::outage::Outage;
use crate::source::Source;
use crate::store::{Applied, Care, Fault, Store};
use crate::totals::{Count, Part, Totals};

/// The first and the longest wait before a database is tried again.
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for a database that does not answer.
const STOP_WAIT: Duration = Duration::from_secs(2);
/// How often a piece is tried before it is halved, and a single event before it is put aside:
/// another worker may have been in the way.
const TRIES: u32 = 2;
const TRIES_ALONE: u32 = 3;

fn tell_healed(row: &Row) {
    let [order, voucher] = [&row.key.order, &row.key.voucher].map(|text| sanitize(text));
    let state = row.known.state.word();
    info!(
        "order {order} for voucher {voucher} is not disputed any more: the server has it {state}"
    );
}

/// Ends `STOP_WAIT` after the worker was asked to stop; a commit that still runs is then abandoned.
/// Whether it succeeds or not, its entries stay pending.
async fn grace(mut stop: Stop) {
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(STOP_WAIT).await;
}

#[derive(Clone)]
pub struct Committer {
    store: Arc<Store>,
    totals: Arc<Totals>,
    /// The stream of orders that it commits, for the log.
    stream: String,
    stop: Stop,
    /// When an order was last written as held orders are.
    held_at: Option<Instant>,
}

impl Committer {
    pub fn new(store: Arc<Store>, totals: Arc<Totals>, stream: &str, stop: Stop) -> Self {
        Self { store, totals, stream: stream.to_owned(), stop, held_at: None }
    }

    /// Compares the marks of the rows and of the server, and waits while the database is down.
    pub async fn agree(&mut self, source: &mut Source) -> Result<(Marks, Meaning), Halt> {
        let part = Part::Database(self.stream.clone());
        let mut outage = Outage::of("the database", self.store.name(), part, &self.totals);
        loop {
            let fault = match marks::agree(source, &self.store).await {
                Ok(agreed) => {
                    outage.over();
                    return Ok(agreed);
                }
                Err(Fault::Server(error)) => return Err(Halt::Redis(error)),
                Err(fault) => fault,
            };
            let tries = outage.failed(&fault.text());
            rest(&mut self.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await?;
        }
    }

    /// What the rows say, once the database answers. None if it is there, and refuses to say.
    pub async fn look<T>(
        &mut self,
        about: &str,
        ask: impl AsyncFn(&Store) -> Result<T, Fault>,
    ) -> Result<Option<T>, Halt> {
        let part = Part::Database(self.stream.clone());
        let mut outage = Outage::of("the database", self.store.name(), part, &self.totals);
        loop {
            let fault = match ask(&self.store).await {
                Ok(found) => {
                    outage.over();
                    return Ok(Some(found));
                }
                Err(fault) => fault,
            };
            let Err(down) = self.store.probe().await else {
                outage.over();
                warn!("not looked at until later: {about}: {}", sanitize(&fault.text()));
                return Ok(None);
            };
            let tries = outage.failed(&down.text());
            rest(&mut self.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await?;
        }
    }

    /// Whether an order was written as held orders are, after this moment.
    pub fn has_held_since(&self, moment: Instant) -> bool {
        self.held_at >= Some(moment)
    }

    pub fn database(&self) -> &'static str {
        self.store.database()
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Commits all events that the database accepts, and appends the outcome of each to `done`.
    /// After an error, `left` has what is to be tried again. The order of events doesn't matter to
    /// the rows, so a batch can be split.
    pub async fn commit(
        &mut self,
        asker: &mut Asker<'_>,
        left: &mut Vec<Piece>,
        done: &mut Vec<(Event, Outcome)>,
    ) -> Result<(), Halt> {
        while let Some(piece) = left.last() {
            let tried = match piece.events.is_empty() {
                true => Ok(Applied::default()),
                false => self.attempt(asker, piece).await?,
            };
            let Some(mut piece) = left.pop() else { break };
            let fault = match tried {
                Ok(applied) => {
                    self.count(&applied.outcomes);
                    if applied.has_held {
                        self.held_at = Some(Instant::now());
                    }
                    applied.disputes.iter().for_each(|row| self.tell_dispute(row));
                    applied.healed.iter().for_each(tell_healed);
                    let events = piece.events.into_iter().map(|(event, _)| event);
                    done.extend(events.zip(applied.outcomes));
                    continue;
                }
                Err(fault) => fault,
            };
            debug!(events = piece.events.len(), "refused: {}", sanitize(&fault.text()));
            piece.tries += 1;
            let is_one = piece.events.len() == 1;
            if piece.tries < if is_one { TRIES_ALONE } else { TRIES } {
                left.push(piece);
            } else if is_one {
                let failed = Outcome::Failed(match fault {
                    Fault::Unchanged(text) => Why::Unchanged(text),
                    Fault::Elsewhere(text) => Why::Elsewhere(text),
                    Fault::Refused(text) => {
                        Why::Refused(format!("the database refuses it: {text}"))
                    }
                    fault => Why::Elsewhere(format!("the database refuses it: {}", fault.text())),
                });
                done.extend(piece.events.into_iter().map(|(event, _)| (event, failed.clone())));
            } else {
                let second = piece.events.split_off(piece.events.len() / 2);
                let halves = [second, piece.events];
                left.extend(halves.map(|events| Piece { events, tries: TRIES - 1 }));
            }
        }
        Ok(())
    }

    /// Tries until the database accepts the piece, or refuses it and accepts a probe.
    async fn attempt(
        &mut self,
        asker: &mut Asker<'_>,
        piece: &Piece,
    ) -> Result<Result<Applied, Fault>, Halt> {
        // A piece that was refused may be of users with other orders, which are looked up then.
        let care = if piece.tries == 0 { Care::Usual } else { Care::Full };
        let part = Part::Database(self.stream.clone());
        let mut outage = Outage::of("the database", self.store.name(), part, &self.totals);
        loop {
            let began = Instant::now();
            let tried = async {
                let applied = self.store.apply(&piece.events, care, asker).await;
                self.totals.took(began.elapsed());
                match applied {
                    Ok(_) | Err(Fault::Server(_)) => (applied, Ok(())),
                    Err(_) => (applied, self.store.probe().await),
                }
            };
            let (applied, probed) = tokio::select! {
                tried = tried => tried,
                () = grace(self.stop.clone()) => return Err(Halt::Stopped),
            };
            let down = match (applied, probed) {
                (Err(Fault::Server(error)), _) => return Err(Halt::Redis(error)),
                (applied, Ok(())) => {
                    outage.over();
                    return Ok(applied);
                }
                (_, Err(down)) => down.text(),
            };
            let tries = outage.failed(&down);
            self.totals.add(Count::Retries, 1);
            rest(&mut self.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await?;
        }
    }

    fn tell_dispute(&self, row: &Row) {
        let [order, user, voucher, said] =
            [&row.key.order, &row.user, &row.key.voucher, &row.disputed].map(|text| sanitize(text));
        error!(
            "order {order} of {user} for voucher {voucher} is {} in the rows, but the server says: \
             {said}; the row stays as it is until a person settles it: seckill-worker settle",
            row.known.state.word()
        );
        self.totals.disputed_more();
    }

    fn count(&self, outcomes: &[Outcome]) {
        let of = |want: Outcome| outcomes.iter().filter(|outcome| **outcome == want).count();
        if outcomes.is_empty() {
            return;
        }
        self.totals.add(Count::Batches, 1);
        let (inserted, repeated) = (of(Outcome::Inserted), of(Outcome::Repeated));
        self.totals.add(Count::Orders, inserted + repeated);
        self.totals.add(Count::Inserted, inserted);
        self.totals.add(Count::Repeated, repeated);
        self.totals.add(Count::Confirmed, of(Outcome::Confirmed));
        self.totals.add(Count::Released, of(Outcome::Released));
    }
}
