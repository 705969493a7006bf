//! Very many holds due in the same millisecond: how long until all are released, and how long
//! other clients wait for a PING meanwhile.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use seckill_tools::latency::Latencies;

use crate::Result;
use crate::managed::{Kind, Sale, ids};
use crate::options::Options;
use crate::stand::{AOF, Stand};
use crate::table::{Table, thousands};
use crate::wire::{connect, ping};

const SALE: Sale = Sale { voucher: 8, kind: Kind::Held };
/// The interval of PINGs. A PING's wait counts from when it was due, so a long stall counts for all
/// PINGs that were due meanwhile.
const PING_EVERY: Duration = Duration::from_micros(500);
/// How many PINGs to send between two counts of the holds that are left.
const PINGS_A_LOOK: u32 = 40;
/// How long the same PINGs are sent to the idle server, for comparison.
const IDLE: Duration = Duration::from_secs(2);
const GIVE_UP_AFTER: Duration = Duration::from_secs(300);
const ORDERS_A_COMMAND: usize = 1_000;
/// In the past, so that all holds are due.
const DEADLINE_MS: i64 = 1_700_000_000_000;

pub fn measure(options: &Options) -> Result<Vec<Table>> {
    let title = "Holds due at once, and the PINGs of another client meanwhile, in milliseconds";
    let mut table = Table::new(title, "holds", &[]);
    let orders = options.of(1_000_000, 50_000);
    for (aof, with) in AOF {
        let mut stand = Stand::new(aof)?;
        SALE.open(&mut stand, orders)?;
        fill(&mut stand, orders)?;
        let mut pinger = connect(&stand.socket)?;
        let idle = ping_while(&mut pinger, |since| Ok(since < IDLE))?;
        let holds = key("hold");
        let start = Instant::now();
        // The module notices the key when it gets this name: now all holds are due.
        let () = stand.run(&["RENAME", "prepared", &holds])?;
        let due = ping_while(&mut pinger, |since| {
            if since > GIVE_UP_AFTER {
                return Err("the holds were not released".into());
            }
            let due: usize = stand.run(&["ZCARD", &holds])?;
            Ok(due > 0)
        })?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        SALE.prove(&mut stand, [orders, 0, 0])?;
        let waits = [
            ("all released in", took),
            ("p50", due.ms(0.5)),
            ("p99", due.ms(0.99)),
            ("p99.9", due.ms(0.999)),
            ("longest", due.ms(1.0)),
            ("p99.9 idle", idle.ms(0.999)),
            ("longest idle", idle.ms(1.0)),
        ];
        table.push(format!("{}{with}", thousands(orders)), waits.to_vec());
    }
    Ok(vec![table])
}

fn key(kind: &str) -> String {
    format!("seckill:{kind}:{}", SALE.voucher)
}

/// Writes the keys of a sale in which every order is held with plain commands, since a try can't
/// place a hold that is already due. The holds key does not have its real name yet.
fn fill(stand: &mut Stand, orders: usize) -> Result<()> {
    let () = stand.run(&["SET", &key("stock"), "0"])?;
    let all: Vec<usize> = (0..orders).collect();
    for some in all.chunks(ORDERS_A_COMMAND) {
        let keys = [("HSET", key("book")), ("HSET", key("units")), ("SADD", key("order"))];
        let [mut book, mut units, mut buyers] = keys.map(|(name, key)| vec![name.to_owned(), key]);
        let mut holds = vec!["ZADD".to_owned(), "prepared".to_owned()];
        for n in some {
            let [user, order] = ids(*n);
            book.extend([order.clone(), format!("held:1:{DEADLINE_MS}:{user}")]);
            units.extend([user.clone(), format!("1:{order}")]);
            buyers.push(user);
            holds.extend([DEADLINE_MS.to_string(), order]);
        }
        for command in [book, units, buyers, holds] {
            let () = stand.run(&command)?;
        }
    }
    Ok(())
}

/// Sends PINGs on schedule while `goes_on`, which is called now and then with the time so far.
fn ping_while(
    pinger: &mut UnixStream,
    mut goes_on: impl FnMut(Duration) -> Result<bool>,
) -> Result<Latencies> {
    let mut waits = Latencies::default();
    let start = Instant::now();
    let mut sent = 0;
    let mut pause = Duration::ZERO;
    loop {
        if sent % PINGS_A_LOOK == 0 {
            let before = Instant::now();
            if !goes_on(start.elapsed())? {
                return Ok(waits);
            }
            // The time of the check must not count for a PING.
            pause += before.elapsed();
        }
        let due = start + pause + PING_EVERY * sent;
        // A sleep would end late by more than the time of a PING.
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        ping(pinger)?;
        waits.add(due.elapsed());
        sent += 1;
    }
}
