//! Asks the server, while a batch's rows are locked, what it says of their orders, and whether
//! their entries are still this worker's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::book::State;
use domain::entry_id::EntryId;
use domain::projection::{Book, Known};
use redis::{ErrorKind, Pipeline, RedisError, RedisResult, Value};
use seckill_tools::server_errors::{Trouble, told, trouble};

use crate::batch::{Answer, Answers, Says};
use crate::order_events::{Event, OrderKey, as_text};
use crate::source::{Source, Which, bytes, field, number};

/// How long to wait for replicas in one try.
const REPLICAS_WAIT: Duration = Duration::from_secs(1);

/// Whom a batch asks before it is committed.
pub struct Asker<'s> {
    pub source: &'s mut Source,
    /// Whether the events are entries that this worker must still have; else they are made by a
    /// comparison of rows and orders.
    pub are_entries: bool,
    /// How many replicas must have what is written.
    pub replicas: u32,
}

impl Asker<'_> {
    /// The entries of these events that are not pending for this worker any more.
    pub async fn gone<'e>(
        &mut self,
        events: impl Iterator<Item = &'e Event>,
    ) -> RedisResult<BTreeSet<(Which, EntryId)>> {
        let mut of: BTreeMap<Which, BTreeSet<EntryId>> = BTreeMap::new();
        for event in events.filter(|_| self.are_entries) {
            of.entry(event.which()).or_default().insert(event.id);
        }
        let mut gone = BTreeSet::new();
        for (which, ids) in of {
            let its = self.source.gone(which, &ids).await?;
            gone.extend(its.into_iter().map(|id| (which, id)));
        }
        Ok(gone)
    }

    /// What the server says of some orders of managed vouchers.
    pub async fn answers<'e>(
        &mut self,
        keys: impl Iterator<Item = &'e OrderKey>,
    ) -> RedisResult<Answers> {
        let keys: BTreeSet<_> = keys.filter(|key| key.is_managed()).collect();
        let mut orders = redis::pipe();
        for key in &keys {
            orders.cmd("SECKILL.ORDER").arg(&key.voucher).arg(&key.order);
        }
        let mut answers = Answers::new();
        let mut lacking = Vec::new();
        for (key, reply) in keys.into_iter().zip(self.all(&mut orders).await?) {
            let answer = match reply {
                Ok(Value::Nil) => {
                    lacking.push(key);
                    continue;
                }
                Ok(reply) => answer_of(key, &reply),
                // Without the module, entries alone decide.
                Err(error) if is_unknown_command(&error) => Answer::Says(Says::without(Book::Over)),
                Err(error)
                    if trouble(&error) == Trouble::Wrong && error.code() != Some("NOPERM") =>
                {
                    Answer::Unreadable(told(&error))
                }
                Err(error) => return Err(error),
            };
            answers.insert(key.clone(), answer);
        }
        let vouchers: BTreeSet<_> = lacking.iter().map(|key| key.voucher.as_str()).collect();
        let sales = self.sales(&vouchers).await?;
        for key in lacking {
            let sale = sales.get(key.voucher.as_str()).copied().flatten();
            answers.insert(key.clone(), Answer::Says(Says::without(without(key, sale))));
        }
        Ok(answers)
    }

    /// The sale that each voucher has now; none if it is not managed.
    async fn sales<'v>(
        &mut self,
        vouchers: &BTreeSet<&'v str>,
    ) -> RedisResult<BTreeMap<&'v str, Option<u64>>> {
        let mut infos = redis::pipe();
        for voucher in vouchers {
            infos.cmd("SECKILL.INFO").arg(*voucher);
        }
        let mut sales = BTreeMap::new();
        for (voucher, reply) in vouchers.iter().zip(self.all(&mut infos).await?) {
            let sale = match reply {
                Ok(info) => field(&info, "sale").and_then(number),
                Err(error) if error.code() == Some("NOVOUCHER") => None,
                Err(error) => return Err(error),
            };
            sales.insert(*voucher, sale);
        }
        Ok(sales)
    }

    async fn all(&mut self, commands: &mut Pipeline) -> RedisResult<Vec<RedisResult<Value>>> {
        match commands.is_empty() {
            true => Ok(Vec::new()),
            false => commands.ignore_errors().query_async(self.source.connection()).await,
        }
    }

    /// An error until the replicas have everything up to now: a failover then loses nothing of what
    /// is written.
    pub async fn replicated(&mut self, event: &Event) -> RedisResult<()> {
        if self.replicas == 0 || !self.are_entries {
            return Ok(());
        }
        let place = (event.which(), event.id);
        let have = self.source.replicas_of(place, self.replicas, REPLICAS_WAIT).await?;
        if have >= u64::from(self.replicas) {
            return Ok(());
        }
        let text = format!("{have} replicas have the orders, and {} must", self.replicas);
        Err(RedisError::from((ErrorKind::Io, "--replicas", text)))
    }
}

fn is_unknown_command(error: &RedisError) -> bool {
    error.detail().is_some_and(|text| text.starts_with("unknown command"))
}

/// The reply of SECKILL.ORDER, if it is not null.
fn answer_of(key: &OrderKey, reply: &Value) -> Answer {
    let bytes_of = |name| field(reply, name).map(bytes).filter(|bytes| !bytes.is_empty());
    let sale = field(reply, "sale").and_then(number);
    if sale.is_none_or(|sale| sale.to_string() != key.sale) {
        return Answer::Says(Says::without(without(key, sale)));
    }
    let user = field(reply, "user").map(|user| as_text(bytes(user)));
    let units = field(reply, "units").and_then(number).and_then(|units| i64::try_from(units).ok());
    let (Some(state), Some(units)) = (bytes_of("state").and_then(State::parse), units) else {
        // An order that waits in line was never accepted.
        return Answer::Says(Says { user, deadline_ms: None, book: Book::Lacks });
    };
    let was = bytes_of("was").and_then(State::parse);
    let reference = bytes_of("ref").map(as_text);
    let deadline_ms =
        field(reply, "deadline").and_then(number).and_then(|ms| i64::try_from(ms).ok());
    let book = Book::Has(Known::new(state, was, units, reference));
    Answer::Says(Says { user, deadline_ms, book })
}

/// What it means that the server has no such order, by the sale that the voucher has now.
fn without(key: &OrderKey, sale: Option<u64>) -> Book<String> {
    match (sale, key.sale.parse::<u64>().ok()) {
        (Some(now), Some(its)) if now == its => Book::Lacks,
        (Some(now), Some(its)) if now < its => Book::Older,
        _ => Book::Over,
    }
}
