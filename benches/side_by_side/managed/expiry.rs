//! Very many holds due in the same millisecond: how long until all are released, and how long
//! other clients wait for a PING meanwhile.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Result;
use crate::managed::sale::{FIRST_ORDER, FIRST_USER, Kind, Sale};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::connect;

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

#[derive(Serialize)]
pub struct Expiry {
    pub holds: usize,
    pub aof: bool,
    /// From the time when all holds are due until the last is released.
    pub seconds: f64,
    pub idle: Waits,
    pub due: Waits,
}

/// How long PINGs took, in milliseconds.
#[derive(Serialize)]
pub struct Waits {
    pub pings: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
}

pub fn measure(lab: &Lab, size: Size, aof: bool) -> Result<Expiry> {
    let mut stand = lab.stand(aof)?;
    let orders = size.holds;
    SALE.open(&mut stand, orders)?;
    let prepared = fill(&mut stand, orders)?;
    let mut pinger = Pinger::connect(&stand)?;
    let idle = pinger.ping_while(|since| Ok(since < IDLE))?;
    let holds = format!("seckill:hold:{}", SALE.voucher);
    let start = Instant::now();
    // The module notices the key when it gets this name: now all holds are due.
    let () = stand.run(&["RENAME", &prepared, &holds])?;
    let due = pinger.ping_while(|since| {
        if since > GIVE_UP_AFTER {
            return Err("the holds were not given back".into());
        }
        let left: usize = stand.run(&["ZCARD", &holds])?;
        Ok(left > 0)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    SALE.prove(&mut stand, orders, 0, 0)?;
    Ok(Expiry { holds: orders, aof, seconds, idle, due })
}

/// Writes the keys of a sale in which every order is held, with plain commands, since a try can't
/// place a hold that is already due. Returns the name of the holds key, which is not yet the real
/// one.
fn fill(stand: &mut Stand, orders: usize) -> Result<String> {
    let key = |kind: &str| format!("seckill:{kind}:{}", SALE.voucher);
    let prepared = "prepared".to_owned();
    for from in (0..orders).step_by(ORDERS_A_COMMAND) {
        let [mut book, mut units] = ["book", "units"].map(|kind| {
            let mut command = redis::cmd("HSET");
            command.arg(key(kind));
            command
        });
        let (mut buyers, mut holds) = (redis::cmd("SADD"), redis::cmd("ZADD"));
        buyers.arg(key("order"));
        holds.arg(&prepared);
        for n in from..(from + ORDERS_A_COMMAND).min(orders) {
            let (user, order_id) = (FIRST_USER + n, FIRST_ORDER + n);
            book.arg(order_id).arg(format!("held:1:{DEADLINE_MS}:{user}"));
            units.arg(user).arg(format!("1:{order_id}"));
            buyers.arg(user);
            holds.arg(DEADLINE_MS).arg(order_id);
        }
        for command in [book, units, buyers, holds] {
            let () = command.query(&mut stand.control)?;
        }
    }
    let () = stand.run(&["SET", &key("stock"), "0"])?;
    Ok(prepared)
}

struct Pinger {
    stream: UnixStream,
}

impl Pinger {
    fn connect(stand: &Stand) -> Result<Self> {
        Ok(Self { stream: connect(&stand.socket)? })
    }

    /// Sends PINGs on schedule while `goes_on`, which is called now and then with the time so far.
    fn ping_while(&mut self, mut goes_on: impl FnMut(Duration) -> Result<bool>) -> Result<Waits> {
        let mut waits = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
        let start = Instant::now();
        let mut sent = 0;
        let mut pause = Duration::ZERO;
        loop {
            if sent % PINGS_A_LOOK == 0 {
                let before = Instant::now();
                if !goes_on(start.elapsed())? {
                    return Ok(Waits::of(&waits));
                }
                // The time of the check must not count for a PING.
                pause += before.elapsed();
            }
            let due = start + pause + PING_EVERY * sent;
            // A sleep would end late by more than the time of a PING.
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            self.ping()?;
            waits.record(due.elapsed().as_nanos() as u64)?;
            sent += 1;
        }
    }

    fn ping(&mut self) -> Result<()> {
        self.stream.write_all(b"PING\r\n")?;
        let mut reply = [0; 7];
        self.stream.read_exact(&mut reply)?;
        crate::wire::check(&reply, b"+PONG\r\n")
    }
}

impl Waits {
    fn of(waits: &Histogram<u64>) -> Self {
        let ms = |nanos: u64| (nanos as f64 / 1e3).round() / 1e3;
        let quantile = |quantile| ms(waits.value_at_quantile(quantile));
        Self {
            pings: waits.len(),
            p50_ms: quantile(0.5),
            p99_ms: quantile(0.99),
            p999_ms: quantile(0.999),
            max_ms: ms(waits.max()),
        }
    }
}
