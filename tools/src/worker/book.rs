//! Asks the server, while a batch's rows are locked, what it says of their orders, and whether
//! their entries are still this worker's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::book::{Entry, State};
use domain::entry_id::EntryId;
use domain::key_names::{BOOK_PREFIX, RULES_PREFIX};
use domain::projection::Book;
use domain::rules::Rules;
use domain::sale::Units;
use redis::{ErrorKind, RedisError, RedisResult, Value};
use seckill_tools::duration::millis;
use seckill_tools::server_errors::{Trouble, told, trouble};

use crate::batch::{Answer, Answers, Fact};
use crate::letters::buried;
use crate::order_events::{Event, OrderKey, RawOrder, Which, as_text};
use crate::source::Source;

/// How long to wait for replicas in one try.
const REPLICAS_WAIT: Duration = Duration::from_secs(1);
/// Orders that one command asks for: more would keep the server's clients waiting.
const PIECE: usize = 1_000;

/// Entries that a person has given up.
pub type Gone = BTreeSet<(Which, EntryId)>;

/// Whom a batch asks before it is committed.
pub struct Asker<'s> {
    source: &'s mut Source,
    /// Whether the events are entries that this worker must still have; else they are made by a
    /// comparison of rows and orders.
    are_entries: bool,
    /// How many replicas must have what is written.
    replicas: u32,
}

impl<'s> Asker<'s> {
    pub fn of_entries(source: &'s mut Source, replicas: u32) -> Self {
        Self { source, are_entries: true, replicas }
    }

    /// Of events that are made of rows.
    pub fn of_rows(source: &'s mut Source) -> Self {
        Self { source, are_entries: false, replicas: 0 }
    }

    pub fn source(&mut self) -> &mut Source {
        self.source
    }

    /// The entries of these events that are not pending for this worker any more: those that are
    /// dead letters, and those that nothing is known of.
    pub async fn gone<'e>(
        &mut self,
        events: impl Iterator<Item = &'e Event>,
    ) -> RedisResult<(Gone, Gone)> {
        let mut of: BTreeMap<Which, BTreeSet<EntryId>> = BTreeMap::new();
        for event in events.filter(|_| self.are_entries) {
            of.entry(event.which()).or_default().insert(event.id);
        }
        let (mut gone, mut unknown) = (Gone::new(), Gone::new());
        for (which, ids) in of {
            let its = self.source.gone(which, &ids).await?;
            let buried = buried(self.source, which, &its).await?;
            unknown.extend(its.difference(&buried).map(|id| (which, *id)));
            gone.extend(buried.into_iter().map(|id| (which, id)));
        }
        Ok((gone, unknown))
    }

    /// An error until the replicas have everything up to now: a failover then loses nothing of what
    /// is written.
    pub async fn replicated(&mut self, event: &Event) -> RedisResult<()> {
        if self.replicas == 0 || !self.are_entries {
            return Ok(());
        }
        let mut both = redis::pipe();
        // Taking an entry once more is a write, which the replicas have after all that was before.
        let consumer = self.source.consumer().as_bytes();
        let mut claim = self.source.claiming(event.which(), consumer, &[event.id]);
        both.add_command(claim.arg("JUSTID").clone()).ignore();
        both.cmd("WAIT").arg(self.replicas).arg(millis(REPLICAS_WAIT));
        let (have,): (u64,) = both.query_async(self.source.connection()).await?;
        if have >= u64::from(self.replicas) {
            return Ok(());
        }
        let text = format!("{have} replicas have the orders, and {} must", self.replicas);
        Err(RedisError::from((ErrorKind::Io, "--replicas", text)))
    }
}

/// What the server says of some orders; nothing of those of unmanaged vouchers.
pub async fn ask<'k>(
    source: &mut Source,
    keys: impl Iterator<Item = &'k OrderKey>,
) -> RedisResult<Answers> {
    let keys = keys.map(|key| (key, key.voucher.as_bytes(), &*key.sale, key.order.as_bytes()));
    let answers = answers(source, keys).await?.into_iter();
    Ok(answers.map(|(key, answer)| (key.clone(), answer)).collect())
}

/// Those of these orders that a book says are released: they need no row.
pub async fn released(
    source: &mut Source,
    orders: &BTreeSet<&RawOrder>,
) -> RedisResult<BTreeSet<RawOrder>> {
    let keys = orders.iter().map(|raw| (*raw, &*raw.voucher, &*raw.sale, &*raw.order));
    let is_released = |(raw, answer): &(&RawOrder, Answer)| match answer {
        Answer::Has(fact) => fact.known.state.is_released() && fact.user == as_text(&raw.user),
        Answer::Waits(_) | Answer::Without(_) | Answer::Unreadable(_) => false,
    };
    let answers = answers(source, keys).await?.into_iter().filter(is_released);
    Ok(answers.map(|(raw, _)| raw.clone()).collect())
}

/// An order that is asked for, its sale and its id.
type Asked<'k, K> = (K, &'k str, &'k [u8]);

/// The answer for each order, that is given by its voucher, its sale and its id. Only orders of
/// managed vouchers have a sale.
///
/// A voucher's book is asked before its rules: if another sale begins in between, it has none of
/// the orders yet, since their entries are older.
async fn answers<'k, K: Copy>(
    source: &mut Source,
    orders: impl Iterator<Item = (K, &'k [u8], &'k str, &'k [u8])>,
) -> RedisResult<Vec<(K, Answer)>> {
    let mut of: BTreeMap<&[u8], Vec<Asked<'_, K>>> = BTreeMap::new();
    for (its, voucher, sale, id) in orders.filter(|(_, _, sale, _)| !sale.is_empty()) {
        of.entry(voucher).or_default().push((its, sale, id));
    }
    let (mut asked, mut commands, mut answers) = (Vec::new(), redis::pipe(), Vec::new());
    for (voucher, orders) in of {
        let Ok(naming) = source.naming(voucher) else {
            let why = "its voucher has braces that are not a hash tag";
            answers.extend(orders.into_iter().map(|(its, ..)| (its, unreadable(why))));
            continue;
        };
        for orders in orders.chunks(PIECE) {
            commands.cmd("HMGET").arg(naming.key(BOOK_PREFIX));
            orders.iter().for_each(|(_, _, id)| _ = commands.arg(id));
            commands.cmd("GET").arg(naming.key(RULES_PREFIX));
            asked.push(orders.to_vec());
        }
    }
    if asked.is_empty() {
        return Ok(answers);
    }
    let connection = source.connection();
    let replies: Vec<RedisResult<Value>> = commands.ignore_errors().query_async(connection).await?;
    for (orders, replies) in asked.into_iter().zip(replies.chunks_exact(2)) {
        let found = read(&replies[0], &replies[1])?;
        answers.extend(orders.into_iter().enumerate().map(|(at, (its, sale, _))| match &found {
            Ok((entries, now)) => (its, answer(sale, entries.get(at), *now)),
            Err(why) => (its, unreadable(why)),
        }));
    }
    Ok(answers)
}

/// The state of a user's order in the book, if that can be read there.
pub async fn state(source: &mut Source, key: &OrderKey, user: &str) -> RedisResult<Option<State>> {
    Ok(match ask(source, [key].into_iter()).await?.remove(key) {
        Some(Answer::Has(fact)) if fact.user == user => Some(fact.known.state),
        Some(Answer::Waits(its)) if its == user => Some(State::Waiting),
        _ => None,
    })
}

/// The entries of a voucher's book, some of them nil, and the id of its sale; or why they
/// can't be read.
type Read<'r> = Result<(&'r [Value], Option<i64>), String>;

fn read<'r>(book: &'r RedisResult<Value>, rules: &RedisResult<Value>) -> RedisResult<Read<'r>> {
    let (book, rules) = match (book, rules) {
        (Ok(book), Ok(rules)) => (book, rules),
        (Err(error), _) | (_, Err(error)) => {
            let is_data = trouble(error) == Trouble::Wrong && error.code() != Some("NOPERM");
            return if is_data { Ok(Err(told(error))) } else { Err(error.clone()) };
        }
    };
    let sale = match rules {
        Value::Nil => None,
        json => match Rules::parse(bytes(json)) {
            Ok(rules) => Some(rules.sale.get()),
            Err(_) => return Ok(Err("the rules of its voucher can't be read".to_owned())),
        },
    };
    Ok(Ok((book.as_sequence().unwrap_or_default(), sale)))
}

/// What a voucher's book says of an order of a sale, by its entry there and by the sale that is on.
fn answer(its: &str, entry: Option<&Value>, sale: Option<i64>) -> Answer {
    match (sale, its.parse().ok()) {
        (Some(now), Some(its)) if now == its => match entry {
            None | Some(Value::Nil) => Answer::Without(Book::Lacks),
            Some(entry) => match fact(bytes(entry)) {
                Some(fact) if fact.known.state == State::Waiting => Answer::Waits(fact.user),
                Some(fact) => Answer::Has(fact),
                None => unreadable("its entry in the book can't be read"),
            },
        },
        (Some(now), Some(its)) if now < its => Answer::Without(Book::Older),
        _ => Answer::Without(Book::Over),
    }
}

/// An order from its entry in the book; None if that can't be read.
pub fn fact(entry: &[u8]) -> Option<Fact> {
    let entry = Entry::parse(entry).ok()?;
    let deadline_ms = (entry.state == State::Held).then_some(entry.deadline);
    let user = as_text(entry.user);
    let (paid, elsewhere) = (entry.paid.map(Units::get), entry.refunded.all().collect());
    let known = entry.map(as_text).into();
    Some(Fact { user, known, deadline_ms, paid, elsewhere })
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.as_bytes(),
        _ => &[],
    }
}

fn unreadable(why: &str) -> Answer {
    Answer::Unreadable(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(entry: Option<&str>, sale: i64) -> Answer {
        let value =
            |text: Option<&str>| text.map_or(Value::Nil, |text| Value::BulkString(text.into()));
        let rules =
            format!(r#"{{"total":9,"begin":null,"end":null,"limit":1,"hold":null,"sale":{sale}}}"#);
        let rules = Some(rules.as_str()).filter(|_| sale > 0);
        let book = Ok(Value::Array(vec![value(entry)]));
        let (entries, sale) = read(&book, &Ok(value(rules))).unwrap().unwrap();
        answer("5", entries.first(), sale)
    }

    #[test]
    fn an_order_in_line_is_none_for_the_rows() {
        let Answer::Has(held) = asked(Some("held:2:99:ann"), 5) else { panic!() };
        assert_eq!((&*held.user, held.known.units, held.deadline_ms), ("ann", 2, Some(99)));
        let Answer::Has(sold) = asked(Some("sold:2:0:ann"), 5) else { panic!() };
        assert_eq!((sold.known.state, sold.deadline_ms), (State::Sold, None));
        assert_eq!(asked(Some("waiting:2:99:ann"), 5), Answer::Waits("ann".into()));
        assert_eq!(asked(None, 5), Answer::Without(Book::Lacks));
    }

    #[test]
    fn another_sale_says_nothing_of_the_orders_of_this_one() {
        for (sale, book) in [(0, Book::Over), (4, Book::Older), (6, Book::Over)] {
            assert_eq!(asked(Some("sold:2:0:ann"), sale), Answer::Without(book), "{sale}");
        }
        assert!(matches!(asked(Some("lost:1:0:u"), 5), Answer::Unreadable(_)));
    }
}
