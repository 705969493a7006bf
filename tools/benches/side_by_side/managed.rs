//! Managed sales: the cost of their commands compared with scripts that do the same work, and of
//! the longest SECKILL.MTRY.

use domain::overlay::TRIES_MAX;

use crate::Result;
use crate::options::Options;
use crate::stand::{AOF, BUY, MANAGED_CANCEL, MANAGED_CONFIRM, MANAGED_TRY, Stand, evalsha};
use crate::table::{Costs, Table, costs, thousands};
use crate::tries::{DIFFERENT, FIRST_ORDER, GET, MTRY, SCRIPT, TRY};
use crate::wire::{Load, PIPELINE};

pub const SAME_WORK: &str = "script of the same work";
pub const COMMAND: &str = "command";
const SOLD_AT_ONCE: &str = "managed";
pub const HELD_FIRST: &str = "managed, HOLD";

/// The units of each.
const SOLD_IN_TURN: usize = 1_000;

/// What redis.conf sets `hash-max-listpack-entries` to.
const LISTPACK_MAX: &str = "64";

/// Users have eight digits.
const FIRST_USER: usize = 10_000_001;
/// Long enough that no hold is due while a turn is measured.
const HOLD_MS: &str = "3600000";
const STREAMS: [&str; 3] = ["stream.orders", "stream.orders.released", "stream.orders.confirmed"];

/// A voucher and how it is sold.
#[derive(Clone, Copy)]
pub struct Sale {
    pub voucher: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Unmanaged,
    /// Managed; an accepted order is sold at once.
    Sold,
    /// Managed; an accepted order is held.
    Held,
}

impl Sale {
    /// Opens the sale again: deletes everything of the voucher, and the streams.
    pub fn open(self, stand: &mut Stand, units: usize) -> Result<()> {
        let voucher = self.voucher.to_string();
        let mut delete: Vec<String> = vec!["DEL".to_owned()];
        delete.extend(STREAMS.map(str::to_owned));
        let kinds = ["stock", "order", "voucher", "book", "units", "hold", "wait"];
        delete.extend(kinds.map(|kind| format!("seckill:{kind}:{voucher}")));
        let () = stand.run(&delete)?;
        let units = units.to_string();
        match self.kind {
            Kind::Unmanaged => stand.run(&["SET", &format!("seckill:stock:{voucher}"), &units]),
            Kind::Sold => stand.run(&["SECKILL.CREATE", &voucher, &units]),
            Kind::Held => stand.run(&["SECKILL.CREATE", &voucher, &units, "HOLD", HOLD_MS]),
        }
    }

    /// The words with the arguments of a command on each of the orders with these numbers. Order n
    /// belongs to user n.
    pub fn load(
        self,
        words: &[String],
        orders: impl IntoIterator<Item = usize>,
        reply: &str,
    ) -> Load {
        let mut load = Load::new(PIPELINE);
        orders.into_iter().for_each(|n| self.push(&mut load, words, n, &[], reply));
        load
    }

    pub fn push(self, load: &mut Load, words: &[String], n: usize, more: &[String], reply: &str) {
        load.push(&[words, &[self.voucher.to_string()], &ids(n), more].concat(), reply);
    }

    /// Sells the orders numbered from 0.
    pub fn sell(self, stand: &mut Stand, orders: usize) -> Result<()> {
        stand.send(&self.load(&[TRY.to_owned()], 0..orders, ":0\r\n"))
    }

    /// Fails unless these are the units, by an audit that finds no difference; of an unmanaged
    /// voucher, by its stock, its buyers and the stream.
    pub fn prove(self, stand: &mut Stand, [left, held, sold]: [usize; 3]) -> Result<()> {
        let voucher = self.voucher.to_string();
        let (found, is_sound) = if self.kind == Kind::Unmanaged {
            let stock = stand.run(&["GET", &format!("seckill:stock:{voucher}")])?;
            let buyers = stand.run(&["SCARD", &format!("seckill:order:{voucher}")])?;
            let entries: usize = stand.run(&["XLEN", STREAMS[0]])?;
            ([stock, 0, buyers], entries == sold)
        } else {
            let audit = stand.server.audited(&voucher);
            let units = ["left", "held", "sold"].map(|name| audit.number(name) as usize);
            (units, audit.differences().is_empty())
        };
        match is_sound && found == [left, held, sold] {
            true => Ok(()),
            false => Err(format!(
                "{found:?} left, held, sold, not {:?}; or {voucher} is not sound",
                [left, held, sold]
            )
            .into()),
        }
    }
}

/// The user of an order and its id.
pub fn ids(n: usize) -> [String; 2] {
    [FIRST_USER + n, FIRST_ORDER + n].map(|id| id.to_string())
}

/// All units are sold, each to another user. Every further try is by a new user, with a new order.
pub fn sold_out(options: &Options) -> Result<Vec<Table>> {
    let [plain, sold, held] = [(7, Kind::Unmanaged), (8, Kind::Sold), (9, Kind::Held)]
        .map(|(voucher, kind)| Sale { voucher, kind });
    let contenders = [SCRIPT, SAME_WORK, TRY, SOLD_AT_ONCE, HELD_FIRST, GET];
    let ratios = &[(SCRIPT, HELD_FIRST), (HELD_FIRST, TRY)];
    let mut table = Table::new(
        "Server CPU per sold-out try of a managed sale, in microseconds",
        "orders sold",
        ratios,
    );
    // Small hashes are searched from their beginning, up to a size that Redis 7 has raised to 512.
    let small = [(400, "512"), (400, LISTPACK_MAX)].into_iter();
    let large = options.orders_sold().iter().map(|orders| (*orders, LISTPACK_MAX));
    for (orders, listpack_max) in small.chain(large) {
        let mut stand = Stand::new(false)?;
        let _: String = stand.run(&["CONFIG", "SET", "hash-max-listpack-entries", listpack_max])?;
        for sale in [plain, sold, held] {
            sale.open(&mut stand, orders)?;
            sale.sell(&mut stand, orders)?;
        }
        sold.prove(&mut stand, [0, 0, orders])?;
        held.prove(&mut stand, [0, orders, 0])?;
        let command = vec![TRY.to_owned()];
        let loads = contenders.map(|who| {
            let (sale, words) = match who {
                SCRIPT => (plain, evalsha(BUY, &[])),
                SAME_WORK => (held, evalsha(MANAGED_TRY, &[])),
                SOLD_AT_ONCE => (sold, command.clone()),
                HELD_FIRST => (held, command.clone()),
                _ => (plain, command.clone()),
            };
            if who != GET {
                return sale.load(&words, orders..orders + DIFFERENT, ":1\r\n");
            }
            let mut load = Load::new(PIPELINE);
            (0..DIFFERENT).for_each(|_| load.push(&["GET", "seckill:stock:7"], "$1\r\n0\r\n"));
            load
        });
        let by_default = if listpack_max == LISTPACK_MAX { "" } else { ", by default" };
        let row = format!("{}{by_default}", thousands(orders));
        table.push(row, losing(options, &mut stand, &contenders, &loads)?);
    }
    Ok(vec![table])
}

/// The costs of loads of losing tries, each of which is sent once before it is measured.
fn losing(
    options: &Options,
    stand: &mut Stand,
    contenders: &[&'static str],
    loads: &[Load],
) -> Result<Costs> {
    costs(options.rounds(), contenders, |place| {
        stand.send(&loads[place])?;
        Ok(stand.measure(&loads[place], options.losing() / DIFFERENT)? / DIFFERENT as f64)
    })
}

/// Each of these columns and the number of vouchers that take turns in it.
const TURNS: [(&str, usize); 4] =
    [("one voucher", 1), ("8 in turn", 8), ("64 in turn", 64), ("512 in turn", 512)];

/// Sold-out tries of several vouchers, each by a new user with a new order.
pub fn in_turn(options: &Options) -> Result<Vec<Table>> {
    let mut table = Table::new(
        "Server CPU per sold-out try of vouchers that take turns, in microseconds",
        "",
        &[("8 in turn", "one voucher"), ("64 in turn", "one voucher")],
    );
    let kinds = [(TRY, Kind::Unmanaged), (SOLD_AT_ONCE, Kind::Sold), (HELD_FIRST, Kind::Held)];
    for (name, kind) in kinds {
        let mut stand = Stand::new(false)?;
        let sales = |count: usize| (0..count).map(move |n| Sale { voucher: 1_000 + n, kind });
        for sale in sales(TURNS.iter().map(|(_, count)| *count).max().unwrap_or(1)) {
            sale.open(&mut stand, SOLD_IN_TURN)?;
            sale.sell(&mut stand, SOLD_IN_TURN)?;
        }
        let command = vec![TRY.to_owned()];
        let loads = TURNS.map(|(_, count)| {
            let mut load = Load::new(PIPELINE);
            for (n, sale) in sales(count).cycle().take(DIFFERENT).enumerate() {
                sale.push(&mut load, &command, SOLD_IN_TURN + n, &[], ":1\r\n");
            }
            load
        });
        table.push(name, losing(options, &mut stand, &TURNS.map(|(name, _)| name), &loads)?);
    }
    Ok(vec![table])
}

/// A command that changes a sale: its name, the command, the script that does the same work on the
/// same keys, the sale, the reply, and which of left, held and sold all units are afterwards.
type Change = (&'static str, &'static str, &'static str, Kind, &'static str, usize);

const EACH_CHANGE: [Change; 4] = [
    ("accepted, held", TRY, MANAGED_TRY, Kind::Held, ":0\r\n", 1),
    ("accepted, sold", TRY, MANAGED_TRY, Kind::Sold, ":0\r\n", 2),
    ("confirmed", "SECKILL.CONFIRM", MANAGED_CONFIRM, Kind::Held, ":1\r\n", 2),
    ("cancelled", "SECKILL.CANCEL", MANAGED_CANCEL, Kind::Held, ":1\r\n", 0),
];

/// Every turn has a new sale, which is audited afterwards.
pub fn changes(options: &Options) -> Result<Vec<Table>> {
    let mut table = Table::new(
        "Server CPU of what changes a managed sale, in microseconds",
        "",
        &[(SAME_WORK, COMMAND)],
    );
    for (name, command, script, kind, reply, ends) in EACH_CHANGE {
        for (aof, with) in AOF {
            let mut stand = Stand::new(aof)?;
            let sale = Sale { voucher: 8, kind };
            let orders = options.accepted();
            let spellings = [evalsha(script, &[]), vec![command.to_owned()]];
            let loads = spellings.map(|words| sale.load(&words, 0..orders, reply));
            let costs = costs(options.rounds(), &[SAME_WORK, COMMAND], |place| {
                let open = |stand: &mut Stand| {
                    sale.open(stand, orders)?;
                    if command == TRY { Ok(()) } else { sale.sell(stand, orders) }
                };
                // The first time warms the caches.
                open(&mut stand)?;
                stand.send(&loads[place])?;
                open(&mut stand)?;
                let micros = stand.measure(&loads[place], 1)? / orders as f64;
                let mut units = [0; 3];
                units[ends] = orders;
                sale.prove(&mut stand, units)?;
                Ok(micros)
            })?;
            table.push(format!("{name}{with}"), costs);
        }
    }
    Ok(vec![table])
}

/// How long one SECKILL.MTRY with the maximum of tries, all of them accepted, occupies the main
/// thread.
pub fn full_batches(options: &Options) -> Result<Vec<Table>> {
    let tries = thousands(TRIES_MAX);
    let title = format!("Main thread per SECKILL.MTRY of {tries} accepted tries, in milliseconds");
    let mut table = Table::new(title, "voucher", &[]);
    for (name, kind) in
        [("unmanaged", Kind::Unmanaged), (SOLD_AT_ONCE, Kind::Sold), (HELD_FIRST, Kind::Held)]
    {
        let sale = Sale { voucher: 8, kind };
        let commands = (options.accepted() / TRIES_MAX).max(1);
        let units = commands * TRIES_MAX;
        let mut load = Load::new(1);
        let reply = format!("*{TRIES_MAX}\r\n{}", ":0\r\n".repeat(TRIES_MAX));
        for command in 0..commands {
            let mut words = vec![MTRY.to_owned(), sale.voucher.to_string()];
            words.extend((command * TRIES_MAX..(command + 1) * TRIES_MAX).flat_map(ids));
            load.push(&words, &reply);
        }
        let mut row = Vec::new();
        for (aof, column) in [(false, "no AOF"), (true, "AOF everysec")] {
            let mut stand = Stand::new(aof)?;
            row.extend(costs(options.rounds(), &[column], |_| {
                sale.open(&mut stand, units)?;
                let micros = stand.measure(&load, 1)?;
                let is_held = kind == Kind::Held;
                sale.prove(&mut stand, if is_held { [0, units, 0] } else { [0, 0, units] })?;
                Ok(micros / 1e3 / commands as f64)
            })?);
        }
        table.push(name, row);
    }
    Ok(vec![table])
}
