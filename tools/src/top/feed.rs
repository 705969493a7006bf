//! The figures of the page for browsers, as JSON. No users, orders or tokens are in it.

use std::time::Duration;

use seckill_tools::WORKERS_GROUP;
use serde::Serialize;

use crate::history::History;
use crate::reading::{Kind, Reading, Voucher};
use crate::selling::SoldOut;

/// Readings that a curve shows.
const SHOWN: usize = 120;

#[derive(Serialize)]
struct Feed<'r> {
    /// Why the latest reading failed; the figures are then older, if there are any.
    trouble: Option<&'r str>,
    /// Time between two readings.
    interval_ms: u128,
    #[serde(flatten)]
    figures: Option<FiguresJson<'r>>,
}

#[derive(Serialize)]
struct FiguresJson<'r> {
    /// The server's clock now, in unix milliseconds.
    clock_ms: Option<i64>,
    server: ServerJson<'r>,
    tries: Tries,
    way: Option<Way<'r>>,
    sales: Vec<SaleJson<'r>>,
    left_out: usize,
    notes: &'r [String],
}

#[derive(Serialize)]
struct ServerJson<'r> {
    product: &'r str,
    version: &'r str,
    is_primary: bool,
}

/// Tries of all sales: how many, and the curves, of which the last places are the latest.
#[derive(Serialize)]
struct Tries {
    total: Option<u64>,
    accepted: Option<u64>,
    ago_ms: Vec<u128>,
    per_s: Vec<u64>,
    accepted_per_s: Vec<u64>,
}

/// The way of the orders of all sales, by their streams.
#[derive(Serialize)]
struct Way<'r> {
    accepted: u64,
    /// Those of them that were on a waiting list, since the server's start.
    promoted: Option<u64>,
    /// None where no consumer group reads the orders.
    reader: Option<Reader<'r>>,
    paid: u64,
    returned: u64,
    dead_letters: u64,
}

/// What a consumer group, such as the worker's, has acknowledged of the accepted orders.
#[derive(Serialize)]
struct Reader<'r> {
    group: &'r str,
    has_consumer: bool,
    /// For how long no consumer has read what waits; None if one reads, or that is not known.
    silent_ms: Option<u128>,
    /// None where the server can't tell.
    acknowledged: Option<u64>,
    waiting: Option<u64>,
}

#[derive(Serialize)]
struct SaleJson<'r> {
    name: &'r str,
    state: &'r str,
    total: Option<i64>,
    left: Option<i64>,
    held: Option<i64>,
    /// An unmanaged voucher has no count of these: each of its buyers counts as one.
    sold: Option<i64>,
    buyers: Option<i64>,
    waiting: Option<i64>,
    begin_ms: Option<i64>,
    end_ms: Option<i64>,
    sold_out_after_ms: Option<i64>,
    is_sold_out_exact: bool,
    /// Units per second, as long as the other curves or shorter at its beginning.
    taken_per_s: Vec<u64>,
}

/// The latest reading, and what went wrong since.
pub fn feed(history: &History, trouble: Option<&str>, interval_ms: u128) -> String {
    let figures = history.now().map(|now| FiguresJson {
        clock_ms: now.clock_ms.map(|ms| ms.saturating_add(millis(now.at.elapsed()))),
        server: ServerJson {
            product: now.server.product,
            version: &now.server.version,
            is_primary: now.server.is_primary,
        },
        tries: tries(history, now),
        way: way(now),
        sales: now.vouchers.iter().map(|voucher| sale(history, voucher)).collect(),
        left_out: now.left_out,
        notes: &now.notes,
    });
    // Numbers and texts always have a form in JSON.
    serde_json::to_string(&Feed { trouble, interval_ms, figures }).unwrap_or_default()
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn tries(history: &History, now: &Reading) -> Tries {
    let rates: Vec<_> = history.rates(SHOWN).collect();
    Tries {
        total: history.tries_total(),
        accepted: now.counters.get("tries_accepted").copied(),
        ago_ms: rates.iter().map(|it| now.at.duration_since(it.at).as_millis()).collect(),
        per_s: rates.iter().map(|rates| rates.tries).collect(),
        accepted_per_s: rates.iter().map(|rates| rates.accepted).collect(),
    }
}

fn way(now: &Reading) -> Option<Way<'_>> {
    let of = |kind| now.streams.iter().filter(move |stream| stream.kind == kind);
    let appended = |kind| of(kind).map(|stream| stream.appended()).sum();
    of(Kind::Orders).next()?;
    // Without a worker's, the first that is there; the shop's own consumers have their names.
    let groups = || of(Kind::Orders).flat_map(|stream| &stream.groups);
    let worker = groups().find(|group| group.name == WORKERS_GROUP);
    let reader = worker.or_else(|| groups().next()).map(|first| {
        let groups = || groups().filter(|group| group.name == first.name);
        let read: Option<u64> = groups().map(|group| group.read).sum();
        let lag: Option<u64> = groups().map(|group| group.lag).sum();
        let pending: u64 = groups().map(|group| group.pending).sum();
        Reader {
            group: &first.name,
            has_consumer: groups().all(|group| group.consumers > 0),
            silent_ms: groups().filter_map(|group| group.silent()).max().map(|it| it.as_millis()),
            acknowledged: read.map(|read| read.saturating_sub(pending)),
            waiting: lag.map(|lag| lag + pending),
        }
    });
    Some(Way {
        accepted: appended(Kind::Orders),
        promoted: now.counters.get("orders_promoted").copied(),
        reader,
        paid: appended(Kind::Confirmed),
        returned: appended(Kind::Released),
        dead_letters: appended(Kind::DeadLetters),
    })
}

fn sale<'r>(history: &History, voucher: &'r Voucher) -> SaleJson<'r> {
    let Voucher { name, info, sold_out, .. } = voucher;
    SaleJson {
        name,
        state: &info.state,
        total: info.total,
        left: info.left,
        held: info.held,
        sold: if info.managed { info.sold } else { info.buyers },
        buyers: info.buyers,
        waiting: info.waiting,
        begin_ms: info.begin,
        end_ms: info.end,
        sold_out_after_ms: sold_out.map(|SoldOut { after_ms, .. }| after_ms),
        is_sold_out_exact: sold_out.is_some_and(|it| it.is_exact),
        taken_per_s: history.taken(name, SHOWN).collect(),
    }
}
