//! Locks with a waiting line: the cost of a lock without contention, the rate of hand-overs with
//! many contenders, and what ten thousand waiters cost other clients.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Result;
use crate::figures::median;
use crate::lock_crowd::Crowd;
use crate::lock_killed::{self, Killed};
use crate::lock_manner::{LEASE_MS, LOCK, MANNERS, Manner};
use crate::options::{Options, Part, Size};
use crate::stand::{Lab, Stand, cpu_seconds};
use crate::wire::{Load, connect, request};

pub const CONTENDERS: usize = 64;
const BURSTS: usize = 5;
const PINGS: usize = 20_000;
const TOKEN: &[u8] = b"7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:42";

#[derive(Serialize)]
pub struct LockLine {
    /// Where and when it was measured, in a sentence.
    pub place: String,
    pub pairs: Pairs,
    /// Each client asks for the lock again as soon as it has released it, for seconds.
    pub steady: Vec<Contention>,
    /// All ask at the same time, once each.
    pub burst: Vec<Contention>,
    pub waiters: Waiting,
    pub killed: Killed,
}

/// Server CPU of an acquisition and a release by a single client, in microseconds.
#[derive(Serialize)]
pub struct Pairs {
    pub module: f64,
    pub script: f64,
}

#[derive(Serialize)]
pub struct Contention {
    pub manner: Manner,
    pub hand_overs_per_second: f64,
    /// From the first request to the acquisition, in milliseconds.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub commands_each: f64,
    /// Server CPU per hand-over, in microseconds.
    pub cpu_each: f64,
}

#[derive(Serialize)]
pub struct Waiting {
    pub clients: usize,
    /// The memory of a waiter in addition to its connection, in bytes.
    pub bytes_each: f64,
    /// Times of another client's PING, in microseconds.
    pub alone: Latency,
    pub with_waiters: Latency,
    /// While the lock is handed from one waiter to the next.
    pub with_hand_overs: Latency,
}

#[derive(Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
}

pub fn measure(lab: &Lab, options: &Options, place: String) -> Result<Option<LockLine>> {
    if !options.wants(Part::LockLine) {
        return Ok(None);
    }
    let size = options.size();
    eprintln!("locks without contention ...");
    let pairs = pairs(&mut lab.stand(false)?, size)?;
    let (mut steady, mut burst) = (Vec::new(), Vec::new());
    for manner in MANNERS {
        eprintln!("{CONTENDERS} contenders, {} ...", manner.label());
        steady.push(contention(lab, size, manner, false)?);
        burst.push(contention(lab, size, manner, true)?);
    }
    eprintln!("{} waiters ...", size.in_line);
    let waiters = waiting(lab, size)?;
    eprintln!("holders that die ...");
    let killed = lock_killed::measure(lab, size)?;
    Ok(Some(LockLine { place, pairs, steady, burst, waiters, killed }))
}

fn pairs(stand: &mut Stand, size: Size) -> Result<Pairs> {
    const DEPTH: usize = 50;
    let mut module = Load::new(DEPTH, b":1\r\n:1\r\n");
    let mut script = Load::new(DEPTH, b"+OK\r\n:1\r\n");
    let unlock = stand.scripts.unlock.clone();
    for number in 0..1000 {
        let lock = format!("lock:order:{}", 1_000_001 + number);
        let lock = lock.as_bytes();
        module.push_all(&[
            &[b"LOCK.ACQUIRE", lock, TOKEN, LEASE_MS],
            &[b"LOCK.RELEASE", lock, TOKEN],
        ]);
        script.push_all(&[
            &[b"SET", lock, TOKEN, b"NX", b"PX", LEASE_MS],
            &[b"EVALSHA", unlock.as_bytes(), b"1", lock, TOKEN],
        ]);
    }
    let passes = size.pairs_each.div_ceil(1000);
    let (mut with_module, mut with_script) = (Vec::new(), Vec::new());
    for round in 0..=size.rounds {
        let (module, script) = (stand.measure(&module, passes)?, stand.measure(&script, passes)?);
        if round > 0 {
            with_module.push(module);
            with_script.push(script);
        }
    }
    Ok(Pairs { module: median(&mut with_module), script: median(&mut with_script) })
}

/// The median of the rounds, each on the same server and connections.
fn contention(lab: &Lab, size: Size, manner: Manner, in_bursts: bool) -> Result<Contention> {
    let mut stand = lab.stand(false)?;
    let mut crowd = Crowd::connect(&stand, manner, CONTENDERS)?;
    let mut rows: [Vec<f64>; 5] = Default::default();
    for round in 0..=size.rounds.min(5) {
        manner.prepare(&mut stand)?;
        crowd.count_anew()?;
        let cpu = cpu_seconds(&mut stand.control)?;
        let start = Instant::now();
        if in_bursts {
            for _ in 0..BURSTS {
                crowd.burst()?;
            }
        } else {
            crowd.steady(Duration::from_millis(size.contended_ms))?;
        }
        let took = start.elapsed().as_secs_f64();
        let cpu = cpu_seconds(&mut stand.control)? - cpu;
        if round == 0 {
            continue;
        }
        let count = &crowd.count;
        let ms = |quantile| count.in_line.value_at_quantile(quantile) as f64 / 1e6;
        let hand_overs = count.hand_overs as f64;
        let values = [
            hand_overs / took,
            ms(0.5),
            ms(0.99),
            count.commands as f64 / count.acquisitions as f64,
            cpu * 1e6 / hand_overs,
        ];
        rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
    }
    let [hand_overs_per_second, p50_ms, p99_ms, commands_each, cpu_each] =
        rows.map(|mut row| median(&mut row));
    Ok(Contention { manner, hand_overs_per_second, p50_ms, p99_ms, commands_each, cpu_each })
}

fn waiting(lab: &Lab, size: Size) -> Result<Waiting> {
    let mut stand = lab.stand(false)?;
    let mut pinger = connect(&stand.socket)?;
    let alone = pings(&mut pinger, || Ok(()))?;
    let lock = String::from_utf8_lossy(LOCK).into_owned();
    let () = stand.run(&["SET", &lock, "first"])?;
    let bounds = format!("{0} {0} {0}", size.in_line);
    let () = stand.run(&["CONFIG", "SET", "seckill.lock-waiters-max", &bounds])?;
    let streams: Vec<UnixStream> =
        (0..size.in_line).map(|_| connect(&stand.socket)).collect::<Result<_>>()?;
    let tokens: Vec<String> =
        (0..size.in_line).map(|n| format!("7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:{n}")).collect();
    // A connection only has its buffers after its first command.
    let ping = request(&[b"PING"]);
    for mut stream in &streams {
        stream.write_all(&ping)?;
        stream.read_exact(&mut [0; 7])?;
    }
    let before: u64 = used_memory(&mut stand)?;
    for (mut stream, token) in streams.iter().zip(&tokens) {
        let ask =
            [b"LOCK.ACQUIRE".as_slice(), LOCK, token.as_bytes(), LEASE_MS, b"BLOCK", b"3600000"];
        stream.write_all(&request(&ask))?;
    }
    // The control connection is served after the connections that sent before it.
    while stand
        .run::<String>(&["INFO", "seckill"])?
        .lines()
        .all(|line| line.trim_end() != format!("seckill_locks_waiting:{}", size.in_line))
    {}
    let bytes_each = used_memory(&mut stand)?.saturating_sub(before) as f64 / size.in_line as f64;
    let with_waiters = pings(&mut pinger, || Ok(()))?;
    let mut next = 0;
    let () = stand.run(&["LOCK.RELEASE", &lock, "first"])?;
    let with_hand_overs = pings(&mut pinger, || {
        // The holder releases: one hand-over per PING, as long as there are waiters.
        if let (Some(mut stream), Some(token)) = (streams.get(next), tokens.get(next)) {
            let mut reply = [0; 4];
            stream.read_exact(&mut reply)?;
            if &reply != b":1\r\n" {
                return Err("a waiter was not served in its turn".into());
            }
            stream.write_all(&request(&[b"LOCK.RELEASE", LOCK, token.as_bytes()]))?;
            next += 1;
        }
        Ok(())
    })?;
    Ok(Waiting { clients: size.in_line, bytes_each, alone, with_waiters, with_hand_overs })
}

fn used_memory(stand: &mut Stand) -> Result<u64> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("memory").query(&mut stand.control)?;
    info.get("used_memory").ok_or_else(|| "INFO memory names no used_memory".into())
}

/// One PING after the other, each right after `beside`.
fn pings(pinger: &mut UnixStream, mut beside: impl FnMut() -> Result<()>) -> Result<Latency> {
    let mut took = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
    let ping = request(&[b"PING"]);
    for _ in 0..PINGS {
        beside()?;
        let start = Instant::now();
        pinger.write_all(&ping)?;
        pinger.read_exact(&mut [0; 7])?;
        took.record(start.elapsed().as_nanos() as u64)?;
    }
    let micros = |quantile| took.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Latency { p50: micros(0.5), p99: micros(0.99) })
}
