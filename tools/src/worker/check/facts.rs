//! What the server knows about a voucher's orders: the book of a managed voucher; the streams of an
//! unmanaged one, as far back as they are kept, and its set of buyers; the record of payments. Read
//! in pieces, so that no sale waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result};
use domain::book::State;
use domain::entry_id::EntryId;
use domain::integer;
use domain::payments::{Outcome, Payment};
use domain::projection::Known;
use domain::sale::Units;
use redis::{RedisError, Value, cmd};
use seckill_tools::connection::Connection;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::scan::items;
use seckill_tools::voucher_keys::VoucherKeys;

use crate::batch::Fact;
use crate::book;
use crate::options::OrderFields;
use crate::order_events::{Event, Kind, OrderKey, Which, as_text};
use crate::source::reply;

const PIECE: usize = 1_000;

/// What was sold of a voucher in its current sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sold {
    pub voucher: String,
    /// Empty if the server has no sale id.
    pub sale: String,
    pub is_managed: bool,
    pub limit: i64,
    /// Units that were put on sale; only for a managed voucher.
    pub total: Option<i64>,
    pub left: i64,
    pub buyers: i64,
    /// By order id.
    pub orders: BTreeMap<String, Fact>,
    /// The users who bought; only for an unmanaged voucher.
    pub users: BTreeSet<String>,
    /// Units that a person took off the sale, by order.
    pub outside: BTreeMap<String, i64>,
    /// The entry of each order that is still in the stream.
    pub entries: BTreeMap<String, EntryId>,
    /// False if units were sold or released while the orders were read.
    pub is_steady: bool,
    /// Ended, with nothing held and nobody in line.
    pub is_over: bool,
}

/// A payment on the server's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paid {
    pub voucher: String,
    pub sale: String,
    pub order: String,
    pub reference: String,
    /// None in the records of earlier versions.
    pub user: Option<String>,
    pub outcome: Outcome,
    /// How many units it is for, if its confirmation said that.
    pub units: Option<i64>,
}

impl Paid {
    /// Whether it names this order, in whatever sale. Another user may have its id by now.
    pub fn names(&self, key: &OrderKey) -> bool {
        let moved = self.user.as_ref().map(|user| format!("{} of {user}", self.order));
        key.voucher == self.voucher
            && (key.order == self.order || Some(&key.order) == moved.as_ref())
    }
}

/// The payments of a voucher, in all of its sales.
pub async fn payments(link: &mut Connection, keys: &VoucherKeys) -> Result<Vec<Paid>> {
    let mut paid = Vec::new();
    for pair in items(link, "HSCAN", &keys.payments).await?.chunks_exact(2) {
        let payment = Payment::parse(&pair[1]).ok();
        let payment = payment.with_context(|| format!("a payment in {}", keys.payments))?;
        paid.push(Paid {
            voucher: keys.voucher.clone(),
            sale: payment.sale.get().to_string(),
            order: as_text(payment.id),
            reference: as_text(&pair[0]),
            user: payment.user.map(as_text),
            outcome: payment.outcome,
            units: payment.paid.map(Units::get),
        });
    }
    Ok(paid)
}

impl Sold {
    /// None if the voucher has no sale.
    pub async fn read(
        link: &mut Connection,
        keys: &VoucherKeys,
        names: &[OrderFields],
    ) -> Result<Option<Self>> {
        let Some(info) = Self::info(link, keys).await? else { return Ok(None) };
        let mut sold = Self {
            voucher: keys.voucher.clone(),
            sale: info.sale.map(|sale| sale.to_string()).unwrap_or_default(),
            is_managed: info.managed,
            limit: info.limit.unwrap_or(1),
            total: info.total,
            left: info.left.with_context(|| format!("{} has no stock", keys.voucher))?,
            buyers: info.buyers.unwrap_or(0),
            is_over: info.state == "ended"
                && (info.held.unwrap_or(0), info.waiting.unwrap_or(0)) == (0, 0),
            ..Self::default()
        };
        if sold.is_managed {
            sold.read_book(link, keys).await?;
        } else {
            let users = items(link, "SSCAN", &keys.buyers).await?;
            sold.users = users.into_iter().map(text).collect();
            sold.read_streams(link, keys, names).await?;
        }
        sold.is_steady = Self::info(link, keys).await? == Some(info);
        Ok(Some(sold))
    }

    /// None if the voucher has no sale.
    async fn info(link: &mut Connection, keys: &VoucherKeys) -> Result<Option<SaleInfo>> {
        match cmd("SECKILL.INFO").arg(&keys.voucher).query_async(link).await {
            Err(error) if RedisError::code(&error) == Some("NOVOUCHER") => Ok(None),
            Err(error) => Err(error).with_context(|| format!("SECKILL.INFO {}", keys.voucher)),
            Ok(info) => Ok(Some(info)),
        }
    }

    async fn read_book(&mut self, link: &mut Connection, keys: &VoucherKeys) -> Result<()> {
        for pair in items(link, "HSCAN", &keys.book).await?.chunks_exact(2) {
            let order = text(pair[0].clone());
            let fact = book::fact(&pair[1]);
            let fact = fact.with_context(|| format!("order {order} in {}", keys.book))?;
            if fact.known.state != State::Waiting {
                self.orders.insert(order, fact);
            }
        }
        for pair in items(link, "HSCAN", &keys.outside).await?.chunks_exact(2) {
            let units = integer::parse(&pair[1]);
            let units = units.with_context(|| format!("the units in {}", keys.outside))?;
            self.outside.insert(text(pair[0].clone()), units);
        }
        Ok(())
    }

    /// The entries of the orders, for a group whose rows began later than its first entry.
    pub async fn read_entries(
        &mut self,
        link: &mut Connection,
        keys: &VoucherKeys,
        names: &[OrderFields],
    ) -> Result<()> {
        if self.is_managed {
            let events = events_of(link, keys, names, &self.sale, Which::Orders).await?;
            self.entries = events.into_iter().map(|event| (event.key.order, event.id)).collect();
        }
        Ok(())
    }

    /// If an id was sold again, its last entries count.
    async fn read_streams(
        &mut self,
        link: &mut Connection,
        keys: &VoucherKeys,
        names: &[OrderFields],
    ) -> Result<()> {
        let mut balance: HashMap<String, i64> = HashMap::new();
        for event in events_of(link, keys, names, &self.sale, Which::Orders).await? {
            *balance.entry(event.key.order.clone()).or_default() += 1;
            let known = Known::new(State::Sold, None, event.units, None);
            let fact = Fact::of(event.user, known);
            self.entries.insert(event.key.order.clone(), event.id);
            self.orders.insert(event.key.order, fact);
        }
        for event in events_of(link, keys, names, &self.sale, Which::Released).await? {
            let left = balance.entry(event.key.order.clone()).or_default();
            *left -= 1;
            let fact = self.orders.get_mut(&event.key.order).filter(|_| *left <= 0);
            if let (Some(fact), Kind::Released { reason, .. }) = (fact, event.kind) {
                fact.known.state = State::Released(reason);
            }
        }
        Ok(())
    }
}

/// The entries of a voucher's sale in a stream.
pub async fn events_of(
    link: &mut Connection,
    keys: &VoucherKeys,
    names: &[OrderFields],
    sale: &str,
    which: Which,
) -> Result<Vec<Event>> {
    let stream = if which == Which::Orders { &keys.stream } else { &keys.released };
    let Some(stream) = stream else { return Ok(Vec::new()) };
    let (mut events, mut from) = (Vec::new(), "-".to_owned());
    loop {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(&from).arg("+").arg("COUNT").arg(PIECE);
        let entries = reply::entries(&range.query_async::<Value>(link).await?)?;
        let parsed = entries.iter().filter_map(|entry| Event::parse(which, entry, names).ok());
        events.extend(parsed.filter(|e| e.key.voucher == keys.voucher && e.key.sale == sale));
        let Some(last) = entries.last() else { return Ok(events) };
        from = format!("({}", last.id);
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
