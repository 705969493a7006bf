//! What the server knows about a voucher's orders: the book of a managed voucher; the streams of an
//! unmanaged one, as far back as they are kept, and its set of buyers. Read in pieces, so that no
//! sale waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::order_events::{Order, Release, StreamEntry};
use anyhow::{Context, Result};
use domain::book::{Entry, State};
use domain::rejection::FieldNames;
use redis::{Value, cmd};
use seckill_tools::connection::Connection;
use seckill_tools::scan::items;
use seckill_tools::voucher_keys::VoucherKeys;

use crate::source::entries_of;

const PIECE: u32 = 1_000;

/// An order as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub user: String,
    pub units: i64,
    pub state: State,
    pub deadline_ms: Option<i64>,
    /// Its payment has a reference, so it was sold at some time.
    pub was_sold: bool,
}

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
}

impl Sold {
    pub async fn read(
        link: &mut Connection,
        keys: &VoucherKeys,
        names: FieldNames<'_>,
    ) -> Result<Self> {
        let info: HashMap<String, Value> = cmd("SECKILL.INFO")
            .arg(&keys.voucher)
            .query_async(link)
            .await
            .with_context(|| format!("SECKILL.INFO {}", keys.voucher))?;
        let number = |name: &str| match info.get(name) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        let sale = match info.get("sale") {
            Some(Value::Int(sale)) => sale.to_string(),
            Some(Value::BulkString(sale)) => String::from_utf8_lossy(sale).into_owned(),
            _ => String::new(),
        };
        let mut sold = Self {
            voucher: keys.voucher.clone(),
            sale,
            is_managed: number("managed") == Some(1),
            limit: number("limit").unwrap_or(1),
            total: number("total"),
            left: number("left").with_context(|| format!("{} has no stock", keys.voucher))?,
            buyers: number("buyers").unwrap_or(0),
            ..Self::default()
        };
        if sold.is_managed {
            sold.read_book(link, keys).await?;
        } else {
            let users = items(link, "SSCAN", &keys.buyers).await?;
            sold.users = users.into_iter().map(text).collect();
            sold.read_streams(link, keys, names).await?;
        }
        Ok(sold)
    }

    async fn read_book(&mut self, link: &mut Connection, keys: &VoucherKeys) -> Result<()> {
        let book = items(link, "HSCAN", &keys.book).await?;
        for pair in book.chunks_exact(2) {
            let Ok(entry) = Entry::parse(&pair[1]) else {
                anyhow::bail!("the book of {} has an entry that can't be read", self.voucher);
            };
            let fact = Fact {
                user: text(entry.user.to_vec()),
                units: entry.units.get(),
                state: entry.state,
                deadline_ms: (entry.state == State::Held).then_some(entry.deadline),
                was_sold: entry.reference.is_some(),
            };
            self.orders.insert(text(pair[0].clone()), fact);
        }
        Ok(())
    }

    /// If an id was sold again, its last entries count.
    async fn read_streams(
        &mut self,
        link: &mut Connection,
        keys: &VoucherKeys,
        names: FieldNames<'_>,
    ) -> Result<()> {
        let mut balance: HashMap<String, i64> = HashMap::new();
        for order in orders_of(link, keys, names, &self.sale).await? {
            *balance.entry(order.key.order.clone()).or_default() += 1;
            let fact = Fact {
                user: order.user,
                units: order.units,
                state: State::Sold,
                deadline_ms: None,
                was_sold: false,
            };
            self.orders.insert(order.key.order, fact);
        }
        for release in releases_of(link, keys, names, &self.sale).await? {
            let left = balance.entry(release.key.order.clone()).or_default();
            *left -= 1;
            if let Some(fact) = self.orders.get_mut(&release.key.order).filter(|_| *left <= 0) {
                fact.state = State::Released(release.reason);
            }
        }
        Ok(())
    }

    /// Units of the orders that are live.
    pub fn units(&self) -> i64 {
        if !self.is_managed {
            return self.buyers;
        }
        self.orders.values().filter(|fact| fact.state.is_live()).map(|fact| fact.units).sum()
    }
}

/// The entries of a voucher's sale in its stream of orders.
pub async fn orders_of(
    link: &mut Connection,
    keys: &VoucherKeys,
    names: FieldNames<'_>,
    sale: &str,
) -> Result<Vec<Order>> {
    let Some(stream) = &keys.stream else { return Ok(Vec::new()) };
    let mut orders = Vec::new();
    read_stream(link, stream, |entry| {
        let order = Order::parse(entry, names).ok();
        orders.extend(order.filter(|o| o.key.voucher == keys.voucher && o.key.sale == sale));
    })
    .await?;
    Ok(orders)
}

/// The entries of a voucher's sale in its stream of releases.
pub async fn releases_of(
    link: &mut Connection,
    keys: &VoucherKeys,
    names: FieldNames<'_>,
    sale: &str,
) -> Result<Vec<Release>> {
    let Some(stream) = &keys.released else { return Ok(Vec::new()) };
    let mut releases = Vec::new();
    read_stream(link, stream, |entry| {
        let release = Release::parse(entry, names).ok();
        releases.extend(release.filter(|r| r.key.voucher == keys.voucher && r.key.sale == sale));
    })
    .await?;
    Ok(releases)
}

async fn read_stream(
    link: &mut Connection,
    stream: &str,
    mut take: impl FnMut(&StreamEntry),
) -> Result<()> {
    let mut from = "-".to_owned();
    loop {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(&from).arg("+").arg("COUNT").arg(PIECE);
        let entries = entries_of(&range.query_async::<Value>(link).await?);
        entries.iter().for_each(&mut take);
        let Some(last) = entries.last() else { return Ok(()) };
        from = format!("({}", last.id);
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
