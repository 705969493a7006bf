//! Commits batches: waits while the database is down, and isolates data that it refuses so that the
//! rest of the batch is committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seckill_tools::back_off::back_off;
use seckill_tools::sanitize::sanitize;
use tokio::sync::watch;
use tracing::{debug, error, info, warn};

use crate::batch::{Event, Outcome, Why};
use crate::store::{Care, Fault, Store};
use crate::totals::{Count, Part, Totals};

/// The first and the longest wait before a database is tried again.
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for a database that does not answer.
const STOP_WAIT: Duration = Duration::from_secs(2);
/// How long two workers may block each other before it is logged.
const CLASH_QUIET: Duration = Duration::from_secs(3);
/// How often the unique index may refuse a piece because of rows that were not seen before.
const DUPLICATES_MAX: u32 = 5;

/// The worker was asked to stop while it waited.
#[derive(Debug)]
pub struct Stopped;

/// Set once the worker is to stop.
pub type Stop = watch::Receiver<bool>;

/// Waits, unless the worker is asked to stop.
pub async fn rest(stop: &mut Stop, wait: Duration) -> Result<(), Stopped> {
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(()),
        _ = stop.wait_for(|stop| *stop) => Err(Stopped),
    }
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
}

/// A part of a batch that is committed in one transaction.
struct Piece {
    events: Vec<Event>,
    care: Care,
    duplicates: u32,
}

impl Committer {
    pub fn new(store: Arc<Store>, totals: Arc<Totals>, stream: &str, stop: Stop) -> Self {
        Self { store, totals, stream: stream.to_owned(), stop }
    }

    /// Commits all events that the database accepts, and returns the outcome of each. The order of
    /// events doesn't matter to the rows, so a batch can be split.
    pub async fn commit(&mut self, events: Vec<Event>) -> Result<Vec<(Event, Outcome)>, Stopped> {
        let mut done = Vec::with_capacity(events.len());
        let mut left = vec![Piece { events, care: Care::Usual, duplicates: 0 }];
        while let Some(mut piece) = left.pop() {
            if piece.events.is_empty() {
                continue;
            }
            let fault = match self.attempt(&piece).await? {
                Ok(outcomes) => {
                    self.count(&outcomes);
                    done.extend(piece.events.into_iter().zip(outcomes));
                    continue;
                }
                Err(Fault::Duplicate(_)) if piece.duplicates < DUPLICATES_MAX => {
                    // Look up the users in the index, and once more if another worker writes in
                    // between.
                    piece.care = Care::Full;
                    piece.duplicates += 1;
                    left.push(piece);
                    continue;
                }
                Err(fault) => fault,
            };
            debug!(events = piece.events.len(), "refused: {}", sanitize(fault.text()));
            if piece.events.len() == 1 {
                let text = fault.text().to_owned();
                let failed = Outcome::Failed(match fault {
                    Fault::Unchanged(_) => Why::Unchanged(text),
                    _ => Why::Refused(text),
                });
                done.extend(piece.events.into_iter().map(|event| (event, failed.clone())));
                continue;
            }
            let second = piece.events.split_off(piece.events.len() / 2);
            for events in [second, piece.events] {
                left.push(Piece { events, care: piece.care, duplicates: 0 });
            }
        }
        Ok(done)
    }

    /// Retries until the database accepts the piece or finds its data at fault. Other faults are
    /// not due to the data, so they are retried until the worker stops.
    async fn attempt(&mut self, piece: &Piece) -> Result<Result<Vec<Outcome>, Fault>, Stopped> {
        let started = Instant::now();
        let mut tries: u64 = 0;
        let mut told: Option<Instant> = None;
        loop {
            let began = Instant::now();
            let applied = tokio::select! {
                applied = self.store.apply(&piece.events, piece.care) => applied,
                () = grace(self.stop.clone()) => return Err(Stopped),
            };
            self.totals.took(began.elapsed());
            let is_wrong = matches!(applied, Err(Fault::Wrong(_)));
            let text = match applied {
                Err(Fault::Away(text) | Fault::Wrong(text)) => text,
                Err(Fault::Clash(text)) if started.elapsed() >= CLASH_QUIET => text,
                Err(Fault::Clash(_)) => String::new(),
                other => {
                    if let Some(since) = told {
                        let seconds = since.elapsed().as_secs_f64();
                        info!("the database is back after {seconds:.1} s");
                        self.totals.intake(&self.stream, true);
                        self.totals.tell(Part::Database(self.stream.clone()), None);
                    }
                    return Ok(other);
                }
            };
            if told.is_none() && !text.is_empty() {
                told = Some(Instant::now());
                let part = Part::Database(self.stream.clone());
                self.totals.tell(part, Some(&sanitize(&text)));
                if is_wrong {
                    error!("the database needs a correction, retrying: {}", sanitize(&text));
                } else {
                    warn!("the database is down, retrying: {}", sanitize(&text));
                }
            }
            if is_wrong {
                self.totals.intake(&self.stream, false);
            }
            tries += 1;
            self.totals.add(Count::Retries, 1);
            rest(&mut self.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await?;
        }
    }

    fn count(&self, outcomes: &[Outcome]) {
        let of = |want: Outcome| outcomes.iter().filter(|outcome| **outcome == want).count();
        self.totals.add(Count::Batches, 1);
        let (inserted, repeated) = (of(Outcome::Inserted), of(Outcome::Repeated));
        self.totals.add(Count::Orders, inserted + repeated);
        self.totals.add(Count::Inserted, inserted);
        self.totals.add(Count::Repeated, repeated);
        self.totals.add(Count::Confirmed, of(Outcome::Confirmed));
        self.totals.add(Count::Released, of(Outcome::Released));
    }
}
