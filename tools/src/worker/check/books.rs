//! What a server knows of a voucher's orders: the book of a managed voucher; the set of buyers of
//! an unmanaged one, and its entries in the streams, as far back as they are kept; the record of
//! payments. Read in pieces, so that no sale waits.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result};
use domain::book::{Entry, State};
use domain::integer;
use domain::key_names::outside_field;
use domain::payments::Payment;
use domain::rows::Phase;
use domain::rules::SaleId;
use domain::sale::Units;
use domain::server_state::{Booked, Record, Server};
use domain::unit_set::UnitSet;
use redis::{RedisError, cmd};
use seckill_tools::connection::Connection;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::scan;
use seckill_tools::voucher_keys::VoucherKeys;
use tokio::try_join;

use crate::order_events::{Event, OrderKey, as_text};

/// An order in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookOrder {
    pub user: String,
    pub state: State,
    pub deadline_ms: Option<i64>,
    /// None of one that has no units yet, or never had.
    pub booked: Option<Booked<String>>,
}

/// A payment on the server's record. Those of earlier versions name no user.
pub type Paid = Payment<String>;

/// What a server knows of a voucher.
#[derive(Clone, Debug, Default)]
pub struct Books {
    pub voucher: String,
    /// None while there is no sale.
    pub info: Option<SaleInfo>,
    /// By order id, of the current sale.
    pub orders: HashMap<String, BookOrder>,
    /// By the order's [name](outside_field) there.
    pub outside: HashMap<Vec<u8>, i64>,
    /// By reference, of all sales.
    pub payments: HashMap<String, Paid>,
    /// The buyers of an unmanaged voucher.
    pub users: BTreeSet<String>,
    /// The entries of an unmanaged voucher that are still in the streams.
    pub events: Vec<Event>,
    /// False if units were sold or released while this was read.
    pub is_steady: bool,
}

/// Whether a payment names this order.
pub fn names(paid: &Paid, key: &OrderKey) -> bool {
    paid.id == key.order
        && SaleId::parse(key.sale.as_bytes()) == Some(paid.sale)
        && paid.user.as_ref().is_none_or(|user| *user == key.user)
}

/// None if the record can't be read.
pub fn read_paid(record: &[u8]) -> Option<Paid> {
    Some(Payment::parse(record).ok()?.map(as_text))
}

impl BookOrder {
    /// None if the entry can't be read.
    pub fn read(entry: &[u8]) -> Option<Self> {
        let entry = Entry::parse(entry).ok()?;
        let phase = match (entry.state, entry.was) {
            (State::Waiting, _) | (State::Released(_), Some(State::Waiting)) => None,
            (State::Held, _) => Some(Phase::Held),
            (State::Sold, _) => Some(Phase::Sold),
            (State::Released(_), Some(State::Sold)) => Some(Phase::ReleasedSold),
            (State::Released(_), _) => Some(Phase::Released),
        };
        let refunded = entry.refunded.all().fold(UnitSet::EMPTY, |all, span| {
            all.union(&UnitSet::between(span.first.get(), span.last.get()))
        });
        let booked = phase.map(|phase| Booked {
            phase,
            units: entry.units.get(),
            asked: entry.asked.get(),
            reference: entry.reference.map(as_text),
            paid: entry.paid.map(Units::get),
            refunded,
        });
        let deadline_ms = (entry.state == State::Held).then_some(entry.deadline);
        Some(Self { user: as_text(entry.user), state: entry.state, deadline_ms, booked })
    }
}

impl Books {
    /// Those of a voucher that is not there.
    pub fn of_none(voucher: &str) -> Self {
        Self { voucher: voucher.to_owned(), is_steady: true, ..Self::default() }
    }

    /// Without the entries in streams.
    pub async fn read(link: &mut Connection, keys: &VoucherKeys) -> Result<Self> {
        let info = Self::info(link, keys).await?;
        let mut books = Self { voucher: keys.voucher.clone(), info, ..Self::default() };
        books.read_items(link, keys).await?;
        books.is_steady = Self::info(link, keys).await? == books.info;
        Ok(books)
    }

    /// The server makes a piece of one key while that of another is read.
    async fn read_items(&mut self, link: &Connection, keys: &VoucherKeys) -> Result<()> {
        let Self { info, orders, outside, payments, users, .. } = self;
        let reads_payments = scan::each(link, "HSCAN", &keys.payments, |[reference, record]| {
            let paid = read_paid(record);
            let paid = paid.with_context(|| format!("a payment in {}", keys.payments))?;
            payments.insert(as_text(reference), paid);
            Ok(())
        });
        let reads_orders = scan::each(link, "HSCAN", &keys.book, |[id, entry]| {
            let order = BookOrder::read(entry);
            let order = order.with_context(|| format!("order {} in {}", as_text(id), keys.book))?;
            orders.insert(as_text(id), order);
            Ok(())
        });
        let reads_outside = scan::each(link, "HSCAN", &keys.outside, |[name, units]| {
            let units = integer::parse(units);
            let units = units.with_context(|| format!("the units in {}", keys.outside))?;
            outside.insert(name.clone(), units);
            Ok(())
        });
        let reads_users = scan::each(link, "SSCAN", &keys.buyers, |[user]| {
            users.insert(as_text(user));
            Ok(())
        });
        match info {
            Some(info) if info.managed => {
                try_join!(reads_payments, reads_orders, reads_outside)?;
            }
            Some(_) => _ = try_join!(reads_payments, reads_users)?,
            None => reads_payments.await?,
        }
        Ok(())
    }

    /// None if the voucher has no sale.
    async fn info(link: &mut Connection, keys: &VoucherKeys) -> Result<Option<SaleInfo>> {
        match cmd("SECKILL.INFO").arg(&keys.voucher).query_async(link).await {
            Err(error) if RedisError::code(&error) == Some("NOVOUCHER") => Ok(None),
            Err(error) => Err(error).with_context(|| format!("SECKILL.INFO {}", keys.voucher)),
            Ok(info) => Ok(Some(info)),
        }
    }

    /// Does the server know anything of the voucher?
    pub fn is_known(&self) -> bool {
        self.info.is_some() || !self.payments.is_empty()
    }

    /// The sale that is on; empty of an unmanaged voucher.
    pub fn sale(&self) -> Option<String> {
        let info = self.info.as_ref()?;
        Some(info.sale.map(|sale| sale.to_string()).unwrap_or_default())
    }

    pub fn is_managed(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.managed)
    }

    pub fn is_unmanaged(&self) -> bool {
        self.info.as_ref().is_some_and(|info| !info.managed)
    }

    /// What the server says of an order, and of payments with these references or for this order.
    pub fn server<'r>(
        &'r self,
        key: &OrderKey,
        references: impl Iterator<Item = &'r str>,
    ) -> Server<String> {
        let is_over = self.sale().as_deref() != Some(&key.sale);
        let outside = outside_field(key.user.as_bytes(), key.order.as_bytes());
        let outside = self.outside.get(&outside).copied().filter(|_| !is_over);
        let record = |reference: &str| {
            let paid = self.payments.get(reference)?;
            let (is_its, units) = (names(paid, key), paid.paid.map(Units::get));
            Some((reference.to_owned(), Record { outcome: paid.outcome, is_its, units }))
        };
        let order = self.orders.get(&key.order).filter(|its| its.user == key.user && !is_over);
        let own = order.and_then(|order| order.booked.as_ref()?.reference.as_deref());
        Server {
            order: order.and_then(|order| order.booked.clone()),
            outside: outside.unwrap_or(0),
            records: references.chain(own).filter_map(record).collect(),
            left: self.info.as_ref().and_then(|info| info.left).unwrap_or(0),
            is_over,
        }
    }
}
