//! Writes batches: waits while the database is down, and finds the data that it refuses, so that
//! the rest of the batch is committed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seckill_tools::back_off::back_off;
use seckill_tools::sanitize::sanitize;
use tracing::{debug, error, info, warn};

use crate::batch::{Outcome, Row, Sole, Why};
use crate::book::Asker;
use crate::halt::{Halt, Stop, Stopped, rest};
use crate::limits::Limits;
use crate::marks;
use crate::options::Options;
use crate::order_events::Event;
use crate::outage::Outage;
use crate::source::Source;
use crate::store::{Applied, Care, Fault, Store};
use crate::stream_consumer::Shared;
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

/// A part of a batch that is committed in one transaction.
#[derive(Debug)]
struct Piece {
    events: Vec<(Event, Sole)>,
    tries: u32,
}

/// What the writer has in hand outlives connections.
pub struct Writer {
    options: Arc<Options>,
    totals: Arc<Totals>,
    store: Arc<Store>,
    /// The stream of orders whose entries it writes.
    stream: String,
    stop: Stop,
    limits: Limits,
    /// What entries say, before the limits of their vouchers are known.
    read: Vec<Event>,
    /// To be committed.
    pieces: Vec<Piece>,
    /// Tried, and not taken yet.
    done: Vec<(Event, Outcome)>,
    /// When an order was last written as held orders are.
    held_at: Option<Instant>,
}

impl Writer {
    pub fn new((options, totals, store): Shared, stream: &str, stop: Stop) -> Self {
        Self {
            options,
            totals,
            store,
            stream: stream.to_owned(),
            stop,
            limits: Limits::default(),
            read: Vec::new(),
            pieces: Vec::new(),
            done: Vec::new(),
            held_at: None,
        }
    }

    /// Whether an order was written as held orders are, after this moment.
    pub fn has_held_since(&self, moment: Instant) -> bool {
        self.held_at >= Some(moment)
    }

    /// Takes what an entry says in hand, to be written.
    pub fn add(&mut self, event: Event) {
        self.read.push(event);
    }

    /// What became of the events that were tried, and that are in hand until they are taken.
    pub fn done(&self) -> &[(Event, Outcome)] {
        &self.done
    }

    pub fn take_done(&mut self) -> Vec<(Event, Outcome)> {
        std::mem::take(&mut self.done)
    }

    /// Writes all that is in hand. After an error, what is not written stays there.
    pub async fn write(&mut self, source: &mut Source) -> Result<(), Halt> {
        // The limits of vouchers without a book: a book's limits are kept by it.
        let is_counted = |event: &Event| event.is_order() && !event.key.is_managed();
        let counted = self.read.iter().filter(|event| is_counted(event));
        let vouchers: BTreeSet<&str> = counted.map(|event| &*event.key.voucher).collect();
        self.limits.ask(source, vouchers).await?;
        let sole = |event: &Event| match is_counted(event) {
            true => self.limits.of(&event.key.voucher),
            false => Sole::No,
        };
        let events = self.read.drain(..).map(|event| (sole(&event), event));
        let events = events.map(|(sole, event)| (event, sole)).collect();
        self.pieces.push(Piece { events, tries: 0 });
        let mut asker = Asker::of_entries(source, self.options.replicas);
        let (mut pieces, mut done) =
            (std::mem::take(&mut self.pieces), std::mem::take(&mut self.done));
        let committed = self.commit(&mut asker, &mut pieces, &mut done).await;
        (self.pieces, self.done) = (pieces, done);
        committed
    }

    /// Writes events that are no entries, but made of rows.
    pub async fn write_made(
        &mut self,
        source: &mut Source,
        events: Vec<(Event, Sole)>,
    ) -> Result<(), Halt> {
        let mut pieces = vec![Piece { events, tries: 0 }];
        self.commit(&mut Asker::of_rows(source), &mut pieces, &mut Vec::new()).await
    }

    fn outage(&self) -> Outage {
        let part = Part::Database(self.stream.clone());
        Outage::of("the database", self.store.name(), part, &self.totals)
    }

    /// The database is down: waits before it is tried again.
    async fn wait(&mut self, outage: &mut Outage, down: &Fault) -> Result<(), Stopped> {
        let tries = outage.failed(&down.text());
        rest(&mut self.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await
    }

    /// Makes the marks of the rows and of the server agree, and waits while the database is down.
    pub async fn agree(&mut self, source: &mut Source) -> Result<(), Halt> {
        let mut outage = self.outage();
        loop {
            match marks::agree(source, &self.store, &self.options).await {
                Ok(foreign) => {
                    outage.over();
                    return foreign.map_or(Ok(()), |text| Err(Halt::Foreign(text)));
                }
                Err(Fault::Server(error)) => return Err(Halt::Redis(error)),
                Err(fault) => self.wait(&mut outage, &fault).await?,
            }
        }
    }

    /// What the rows say, once the database answers. None if it is there, and refuses to say.
    pub async fn look<T>(
        &mut self,
        about: &str,
        ask: impl AsyncFn(&Store) -> Result<T, Fault>,
    ) -> Result<Option<T>, Halt> {
        let mut outage = self.outage();
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
            self.wait(&mut outage, &down).await?;
        }
    }

    /// Commits all events that the database accepts, and appends the outcome of each to `done`.
    /// After an error, `left` has what is to be tried again. The order of events doesn't matter to
    /// the rows, so a batch can be split.
    async fn commit(
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
        let mut outage = self.outage();
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
            match (applied, probed) {
                (Err(Fault::Server(error)), _) => return Err(Halt::Redis(error)),
                (applied, Ok(())) => {
                    outage.over();
                    return Ok(applied);
                }
                (_, Err(down)) => {
                    self.totals.add(Count::Retries, 1);
                    self.wait(&mut outage, &down).await?;
                }
            }
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
