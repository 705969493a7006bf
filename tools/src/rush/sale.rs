//! A voucher on the server: opened before the rush, read again after it.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use redis::streams::StreamRangeReply;
use redis::{AsyncCommands, RedisResult};
use seckill_tools::connection::Connection;
use seckill_tools::server_info;
use seckill_tools::voucher_keys::VoucherKeys;

use crate::managed;
use crate::options::Options;

/// The field of an order that was promoted from the queue.
const WAITED: &str = "waited";
/// Entries read from the stream at a time.
const PAGE: usize = 1_000;

/// Seconds of CPU that the server has used; in a cluster, all primaries.
pub async fn cpu_seconds(connection: &mut Connection) -> Result<f64> {
    let infos = connection.info("cpu").await.context("INFO cpu")?;
    infos.iter().map(|info| server_info::cpu_seconds(info, "").context("INFO cpu")).sum()
}

/// What the server knows of a voucher at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct State {
    pub stock: i64,
    pub buyers: i64,
    /// Orders in the book, live or released; of a voucher without rules none.
    pub booked: i64,
    /// Id of the stream's last entry, "0" when it has none.
    pub last_entry: String,
    /// The same of the stream of releases.
    pub last_released: String,
}

impl State {
    /// What several shards have together, but for the streams.
    pub fn sum(shards: &[State]) -> State {
        let sum = |of: fn(&State) -> i64| shards.iter().map(of).fold(0, i64::saturating_add);
        State {
            stock: sum(|it| it.stock),
            buyers: sum(|it| it.buyers),
            booked: sum(|it| it.booked),
            ..State::default()
        }
    }

    pub async fn read_all(
        connection: &mut Connection,
        shards: &[VoucherKeys],
    ) -> Result<Vec<State>> {
        let mut states = Vec::with_capacity(shards.len());
        for names in shards {
            states.push(State::read(connection, names).await?);
        }
        Ok(states)
    }

    async fn read(connection: &mut Connection, names: &VoucherKeys) -> Result<State> {
        let stock: Option<i64> = connection.get(&names.stock).await?;
        let stock = stock.with_context(|| format!("no stock key {}", names.stock))?;
        let buyers = connection.scard(&names.buyers).await?;
        let booked = connection.hlen(&names.book).await?;
        let last_entry = last_entry(connection, names.stream.as_deref()).await?;
        let last_released = self::last_entry(connection, names.released.as_deref()).await?;
        Ok(State { stock, buyers, booked, last_entry, last_released })
    }
}

async fn last_entry(connection: &mut Connection, stream: Option<&str>) -> Result<String> {
    let Some(stream) = stream else { return Ok("0".to_owned()) };
    let last: RedisResult<StreamRangeReply> = connection.xrevrange_count(stream, "+", "-", 1).await;
    let last = last.with_context(|| format!("the order stream {stream}"))?.ids;
    Ok(last.into_iter().next().map_or_else(|| "0".to_owned(), |entry| entry.id))
}

/// Opens the sale as the options ask and replies what was there before the first try.
/// A voucher that exists is sold only with `--keep` or `--shards`; no stream is ever touched.
pub async fn open(
    connection: &mut Connection,
    shards: &[VoucherKeys],
    options: &Options,
) -> Result<Vec<State>> {
    if !options.goes_on() {
        for names in shards {
            if let Some(stream) = names.stream.as_ref().filter(|_| !options.beside_others) {
                let entries: u64 = connection.xlen(stream).await?;
                let ask = "--beside-others uses this server anyway";
                ensure!(entries == 0, "{stream} has orders, which may be a shop's: {ask}");
            }
            open_one(connection, names, options).await?;
        }
    }
    if options.managed.managed {
        managed::Standing::ask(connection, shards).await?;
    }
    State::read_all(connection, shards).await
}

async fn open_one(
    connection: &mut Connection,
    names: &VoucherKeys,
    options: &Options,
) -> Result<()> {
    for key in [&names.stock, &names.buyers] {
        let there: bool = connection.exists(key).await?;
        let voucher = &names.voucher;
        ensure!(
            !there,
            "voucher {voucher} exists ({key}): --keep goes on selling it, SECKILL.DROP {voucher} \
             FORCE deletes it"
        );
    }
    if options.managed.managed {
        return managed::create(connection, names, options).await;
    }
    let mut open = redis::cmd("SET");
    open.arg(&names.stock).arg(options.stock).arg("NX");
    let opened: Option<String> = open.query_async(connection).await.context("opening the sale")?;
    ensure!(opened.is_some(), "another client has just opened voucher {}", names.voucher);
    Ok(())
}

/// An order as the stream holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub user: String,
    pub order_id: String,
    pub voucher: String,
    /// It was promoted from the queue.
    pub waited: bool,
}

/// Which of a voucher's streams: its name, and its last entry at the start.
pub type Which = for<'a> fn(&'a VoucherKeys, &'a State) -> (Option<&'a String>, &'a String);

pub const ORDERS: Which = |names, before| (names.stream.as_ref(), &before.last_entry);
pub const RELEASED: Which = |names, before| (names.released.as_ref(), &before.last_released);

/// The vouchers' orders appended to their streams meanwhile, oldest first in each; None where no
/// stream is kept.
pub async fn orders_since(
    connection: &mut Connection,
    shards: &[VoucherKeys],
    before: &[State],
    which: Which,
) -> Result<Option<Vec<Order>>> {
    let vouchers: HashSet<&str> = shards.iter().map(|names| names.voucher.as_str()).collect();
    let (mut orders, mut seen) = (Vec::new(), HashSet::new());
    for (names, before) in shards.iter().zip(before) {
        let (Some(stream), last_entry) = which(names, before) else { return Ok(None) };
        // Without hash tags the shards share one.
        if seen.insert(stream) {
            let mut last = last_entry.clone();
            read_orders(connection, names, stream, &mut last, &vouchers, &mut orders).await?;
        }
    }
    Ok(Some(orders))
}

/// Adds the vouchers' orders behind an entry, which then is the last one read.
pub async fn read_orders(
    connection: &mut Connection,
    names: &VoucherKeys,
    stream: &str,
    last_entry: &mut String,
    vouchers: &HashSet<&str>,
    orders: &mut Vec<Order>,
) -> Result<()> {
    loop {
        let page: RedisResult<StreamRangeReply> =
            connection.xrange_count(stream, format!("({last_entry}"), "+", PAGE).await;
        let page = page.with_context(|| format!("reading the order stream {stream}"))?;
        let Some(last) = page.ids.last() else { return Ok(()) };
        last_entry.clone_from(&last.id);
        for entry in &page.ids {
            let text = |field: &String| entry.get::<String>(field).unwrap_or_default();
            // Other vouchers share the stream.
            let voucher = text(&names.voucher_field);
            if vouchers.contains(voucher.as_str()) {
                let (user, order_id) = (text(&names.user_field), text(&names.order_field));
                let waited = entry.map.contains_key(WAITED);
                orders.push(Order { user, order_id, voucher, waited });
            }
        }
    }
}
