//! What a worker has read and not finished: it is written in transactions that halve where the
//! database refuses one, then acknowledged; what can't be written becomes a dead letter, is
//! skipped, or is parked and tried again. It outlives connections.
//!
//! An order that can't be written stays pending: only an operator gives it up. An entry that no
//! command appends becomes a dead letter, and nothing is released for it.

mod ends;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use redis::{ErrorKind, RedisError, RedisResult};
use seckill_tools::back_off::back_off;
use seckill_tools::duration::millis;
use seckill_tools::sanitize::sanitize;
use tracing::{debug, error};

use crate::accounts::RowOutcome;
use crate::halt::{Halt, Stop, rest};
use crate::options::{Options, OrderFields};
use crate::order_events::{Event, Place, RawOrder, StreamEntry, Unfit, Which};
use crate::outage::Outage;
use crate::parked::{Parked, Refusal, Why};
use crate::source::Source;
use crate::source::reply::Claimed;
use crate::store::{Applied, Fault, Store};
use crate::totals::{Component, Count, Totals};

/// The first and the longest wait before a database is tried again.
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for a database that does not answer.
const STOP_WAIT: Duration = Duration::from_secs(2);
/// How often a piece is tried before it is halved, and a single event before it is parked: another
/// worker may have been in the way.
const TRIES: u32 = 2;
const TRIES_ALONE: u32 = 3;
/// So many entries are read while the database refuses all that are read.
const REFUSED_BATCH: u32 = 8;
/// How long to wait for replicas in one try.
const REPLICAS_WAIT: Duration = Duration::from_secs(1);

/// What the consumers of a worker have in common, and their parts.
#[derive(Clone)]
pub struct Shared {
    pub options: Arc<Options>,
    pub totals: Arc<Totals>,
    pub store: Arc<Store>,
    pub stop: Stop,
}

/// A part of a batch that is committed in one transaction.
#[derive(Debug)]
struct Piece {
    events: Vec<Event>,
    tries: u32,
}

pub struct InFlight {
    shared: Shared,
    /// The stream of orders whose entries it writes.
    stream: String,
    /// The names of an entry's fields.
    pub fields: Vec<OrderFields>,
    /// To be committed.
    read: Vec<Event>,
    pieces: Vec<Piece>,
    /// Committed, and not acknowledged yet.
    committed: Vec<Event>,
    /// Entries that no command appends.
    garbled: VecDeque<(Which, StreamEntry, String)>,
    refused: VecDeque<Refusal>,
    /// Confirmations and releases whose order can't have a row.
    rowless: Vec<(Place, RawOrder)>,
    parked: Parked,
    /// Entries that were deleted while they were pending, and are not noted yet.
    deleted: u64,
    /// An entry could not be read: what it would have said of a row, nobody knows.
    has_unreadable: bool,
    /// All that was tried last was refused.
    is_refusing: bool,
}

/// What there is to read, and to wait for.
impl InFlight {
    pub fn new(shared: Shared, stream: &str) -> Self {
        Self {
            shared,
            stream: stream.to_owned(),
            fields: Vec::new(),
            read: Vec::new(),
            pieces: Vec::new(),
            committed: Vec::new(),
            garbled: VecDeque::new(),
            refused: VecDeque::new(),
            rowless: Vec::new(),
            parked: Parked::default(),
            deleted: 0,
            has_unreadable: false,
            is_refusing: false,
        }
    }

    /// The entries that could not be written.
    pub fn parked(&self) -> &Parked {
        &self.parked
    }

    /// The entries that are to be tried again now.
    pub fn take_due(&mut self) -> BTreeMap<Which, Vec<EntryId>> {
        let due = self.parked.take_due(Instant::now(), self.shared.options.retry);
        self.shared.totals.add(Count::Retries, due.values().map(Vec::len).sum());
        due
    }

    /// How many entries are to be read at a time. While all that is read is refused, little is read
    /// at a time, but it is read: the next order may be a good one.
    pub fn count(&self) -> u32 {
        if self.is_refusing {
            REFUSED_BATCH.min(self.shared.options.batch)
        } else {
            self.shared.options.batch
        }
    }

    /// How many pending entries were deleted since this was last asked, and whether one could not
    /// be read.
    pub fn take_gone(&mut self) -> (u64, bool) {
        (std::mem::take(&mut self.deleted), std::mem::take(&mut self.has_unreadable))
    }

    /// Takes entries over, and finishes all that is in flight. After an error, what is not finished
    /// stays there.
    pub async fn take(
        &mut self,
        source: &mut Source,
        which: Which,
        claimed: Claimed,
    ) -> Result<(), Halt> {
        for id in claimed.deleted {
            // What it says is written if it is known.
            match self.parked.event((which, id)).cloned() {
                Some(event) => self.read.push(event),
                None => self.deleted += 1,
            }
        }
        // Another consumer has it, or an operator has made it a dead letter.
        claimed.others.into_iter().for_each(|id| self.parked.forget((which, id)));
        claimed.entries.into_iter().for_each(|entry| self.add(which, entry));
        self.finish(source).await
    }

    pub fn add(&mut self, which: Which, entry: StreamEntry) {
        let (place, retry) = ((which, entry.id), self.shared.options.retry);
        let unfit = match Event::parse(which, &entry, &self.fields) {
            Ok(event) if self.parked.joins(&event, Instant::now(), retry) => return,
            Ok(event) => return self.read.push(event),
            Err(unfit) => unfit,
        };
        match unfit {
            Unfit::Garbled(why) => self.garbled.push_back((which, entry, why)),
            Unfit::Foreign(why) => self.refuse(place, None, why),
            Unfit::Unstorable(why) => match RawOrder::of(which, &entry, &self.fields) {
                Some(raw) if which != Which::Orders => self.rowless.push((place, raw)),
                raw => self.refuse(place, raw, why),
            },
        }
    }

    fn refuse(&mut self, place: Place, raw: Option<RawOrder>, why: String) {
        self.refused.push_back(Refusal { place, event: None, raw, why: Why::Unfit(why) });
    }

    /// Finishes what is in flight, step by step.
    pub async fn finish(&mut self, source: &mut Source) -> Result<(), Halt> {
        if !self.read.is_empty() {
            self.replicated(source).await?;
            let events = std::mem::take(&mut self.read);
            self.pieces.push(Piece { events, tries: 0 });
        }
        self.commit().await?;
        self.acknowledge(source).await?;
        self.bury(source).await?;
        self.skip(source).await?;
        self.park(source)
    }
}

/// From entries to rows.
impl InFlight {
    /// An error until the replicas have everything up to now: a failover then loses nothing of what
    /// is written.
    async fn replicated(&self, source: &mut Source) -> RedisResult<()> {
        let replicas = self.shared.options.replicas;
        let Some(event) = self.read.first().filter(|_| replicas > 0) else { return Ok(()) };
        let mut both = redis::pipe();
        // Taking an entry once more is a write, which the replicas have after all that was before.
        let consumer = source.consumer().as_bytes();
        let mut claim = source.claiming(event.place.0, consumer, &[event.place.1]);
        both.add_command(claim.arg("JUSTID").clone()).ignore();
        both.cmd("WAIT").arg(replicas).arg(millis(REPLICAS_WAIT));
        let (have,): (u64,) = both.query_async(source.connection()).await?;
        if have >= u64::from(replicas) {
            return Ok(());
        }
        let text = format!("{have} replicas have the orders, and {replicas} must");
        Err(RedisError::from((ErrorKind::UnexpectedReturnType, "--replicas", text)))
    }

    fn outage(&self) -> Outage {
        let part = Component::Database(self.stream.clone());
        Outage::of("the database", self.shared.store.name(), part, &self.shared.totals)
    }

    /// The database is down: waits before it is tried again.
    async fn wait(&mut self, outage: &mut Outage, down: &Fault) -> Result<(), Halt> {
        let tries = outage.failed(&down.text());
        rest(&mut self.shared.stop, back_off(WAIT_FIRST, tries).min(WAIT_MAX)).await
    }

    /// What the tables say, once the database answers.
    pub async fn ask<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&Store) -> Result<T, Fault>,
    ) -> Result<T, Halt> {
        let mut outage = self.outage();
        loop {
            match ask(&self.shared.store).await {
                Ok(found) => {
                    outage.over();
                    return Ok(found);
                }
                Err(Fault::Server(error)) => return Err(Halt::Redis(error)),
                Err(fault) => self.wait(&mut outage, &fault).await?,
            }
        }
    }

    /// Commits all events that the database accepts. After an error, what is to be tried again
    /// stays in flight. The order of events doesn't matter to the rows, so a batch can be split.
    async fn commit(&mut self) -> Result<(), Halt> {
        while let Some(piece) = self.pieces.pop() {
            let tried = match self.attempt(&piece.events, piece.tries).await {
                Ok(tried) => tried,
                Err(halt) => {
                    self.pieces.push(piece);
                    return Err(halt);
                }
            };
            match tried {
                Ok(applied) => {
                    self.sum(&applied);
                    self.committed.extend(piece.events);
                }
                Err(fault) => self.halve(piece, fault),
            }
        }
        Ok(())
    }

    /// A piece was refused: it is tried again, in halves at last; a single event is parked.
    fn halve(&mut self, mut piece: Piece, fault: Fault) {
        debug!(events = piece.events.len(), "refused: {}", sanitize(&fault.text()));
        piece.tries += 1;
        let is_one = piece.events.len() == 1;
        if piece.tries < if is_one { TRIES_ALONE } else { TRIES } {
            return self.pieces.push(piece);
        }
        if !is_one {
            let second = piece.events.split_off(piece.events.len() / 2);
            let halves = [second, piece.events];
            let halves = halves.map(|events| Piece { events, tries: TRIES - 1 });
            return self.pieces.extend(halves);
        }
        let why = match fault {
            Fault::Unchanged(text) => Why::Unchanged(text),
            Fault::Elsewhere(text) => Why::Elsewhere(text),
            Fault::Refused(text) => Why::Refused(format!("the database refuses it: {text}")),
            fault => Why::Elsewhere(format!("the database refuses it: {}", fault.text())),
        };
        for event in piece.events {
            let (place, why) = (event.place, why.clone());
            self.refused.push_back(Refusal { place, event: Some(event), raw: None, why });
        }
    }

    /// Tries until the database accepts the events, or refuses them and accepts a probe.
    async fn attempt(
        &mut self,
        events: &[Event],
        tries: u32,
    ) -> Result<Result<Applied, Fault>, Halt> {
        let mut outage = self.outage();
        loop {
            let began = Instant::now();
            let tried = async {
                let applied = self.shared.store.apply(events).await;
                self.shared.totals.took(began.elapsed());
                let probed = match applied {
                    // Another worker may have inserted the same row: the next try sees it.
                    Ok(_) => Ok(()),
                    Err(Fault::Refused(_)) if tries == 0 => Ok(()),
                    Err(_) => self.shared.store.probe().await,
                };
                (applied, probed)
            };
            let (applied, probed) = tokio::select! {
                tried = tried => tried,
                () = grace(self.shared.stop.clone()) => return Err(Halt::Stopped),
            };
            if let Err(Fault::Lacks(text)) = applied {
                return Err(Halt::Settings(text));
            }
            match probed {
                Ok(()) => {
                    outage.over();
                    return Ok(applied);
                }
                Err(down) => {
                    self.shared.totals.add(Count::Retries, 1);
                    self.wait(&mut outage, &down).await?;
                }
            }
        }
    }

    fn sum(&self, Applied { outcomes, conflicts }: &Applied) {
        let of = |want: RowOutcome| outcomes.iter().filter(|outcome| **outcome == want).count();
        if !outcomes.is_empty() {
            self.shared.totals.add(Count::Batches, 1);
        }
        let (inserted, repeated) = (of(RowOutcome::Inserted), of(RowOutcome::Repeated));
        self.shared.totals.add(Count::Orders, inserted + repeated);
        self.shared.totals.add(Count::Inserted, inserted);
        self.shared.totals.add(Count::Repeated, repeated);
        self.shared.totals.add(Count::Confirmed, of(RowOutcome::Confirmed));
        self.shared.totals.add(Count::Released, of(RowOutcome::Released));
        for (key, conflict) in conflicts {
            let [order, voucher, user] =
                [&key.order, &key.voucher, &key.user].map(|text| sanitize(text));
            error!(
                "order {order} of {user} for voucher {voucher} has a conflict ({}): \
                 seckill-worker check",
                conflict.letters()
            );
            self.shared.totals.another_conflict();
        }
    }
}

/// Ends `STOP_WAIT` after the worker was asked to stop; a commit that still runs is then abandoned.
/// Whether it succeeds or not, its entries stay pending.
async fn grace(mut stop: Stop) {
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(STOP_WAIT).await;
}
