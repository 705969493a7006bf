//! Locks with a waiting line: a lock without contention, hand-overs with many contenders, holders
//! that die, and what ten thousand waiters cost other clients.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::Result;
use crate::crowd::{Crowd, LEASE_MS, LOCK, MANNERS, Manner, release, token, waiting_request};
use crate::latency::{histogram, micros, read_some};
use crate::options::Size;
use crate::stand::Stand;
use crate::table::{Costs, Table, costs, in_rounds, median, thousands};
use crate::wire::{Load, PIPELINE, SILENCE_MAX, connect, ping, request};

pub const HAND_OVERS: &str = "hand-overs per second";
pub const BURST: &str = "64 contenders for one lock";
pub const KILLED: &str = "Holders that die";
const CONTENDERS: usize = 64;
const BURSTS: usize = 5;
const PINGS: usize = 20_000;

const BURST_NOTE: &str = "\
Each contender has its own connection and does no work while it holds the lock, so only the lock
is measured:

- *LOCK.ACQUIRE .. BLOCK*: this module.
- *SET NX every 50 ms*, *every 1 ms*: polling, released by the usual unlock script.
- *SET NX, then BLPOP of a signal*: released by a script that also pushes to a list, as libraries
  do.
- *BLPOP of the one token*: the client that pops the only element of a list holds the lock. It
  has no owner and no lease: if a holder dies, all others wait forever.

A hand-over is an acquisition by a client other than the previous owner. The time in the queue is
that from the first request to the acquisition. Server CPU is that of the main thread, divided
by the hand-overs. All clients ask at the same moment, each once:

![Hand-overs per second](lock-line.svg)";

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let mut burst = Table::new(BURST, &["manner"], &[]);
    burst.note = BURST_NOTE.to_owned();
    for manner in MANNERS {
        burst.push(manner.label(), contention(size, manner)?);
    }
    Ok(vec![pairs(size)?, burst, killed(size)?, in_queue(size)?])
}

/// An acquisition and its release by a single client.
fn pairs(size: &Size) -> Result<Table> {
    const MODULE: &str = "LOCK.ACQUIRE, LOCK.RELEASE";
    const SCRIPT: &str = "SET NX PX, unlock script";
    let mut table = Table::new("Without contention", &[""], &[(SCRIPT, MODULE)]);
    table.note =
        "Server CPU of an acquisition and its release together, pipelined, in microseconds.".into();
    let owner = &token(0);
    let locks: Vec<String> = (0..1_000).map(|n| format!("lock:order:{}", 1_000_001 + n)).collect();
    let loads = [false, true].map(|is_script| {
        let mut load = Load::in_order(PIPELINE);
        for lock in &locks {
            match is_script {
                true => load.push(&["SET", lock, owner, "NX", "PX", LEASE_MS], "+OK\r\n"),
                false => load.push(&["LOCK.ACQUIRE", lock, owner, LEASE_MS], ":1\r\n"),
            }
            load.push(&release(is_script, lock, owner), ":1\r\n");
        }
        load
    });
    let mut stand = Stand::new(false)?;
    let passes = size.unpipelined.div_ceil(locks.len());
    let costs = costs(size.rounds, &[MODULE, SCRIPT], |place| {
        Ok(stand.measure(&loads[place], passes)? / locks.len() as f64)
    })?;
    table.push("acquired and released", costs);
    Ok(table)
}

/// The medians of the rounds, all on the same server and connections.
fn contention(size: &Size, manner: Manner) -> Result<Costs> {
    let mut stand = Stand::new(false)?;
    let mut crowd = Crowd::connect(&stand, manner, CONTENDERS)?;
    let mut rounds = Vec::new();
    in_rounds(size.rounds.min(5), 1, |_| {
        crowd.prepare(&mut stand)?;
        let cpu = stand.cpu_seconds()?;
        let start = Instant::now();
        for _ in 0..BURSTS {
            crowd.contend()?;
        }
        let took = start.elapsed().as_secs_f64();
        let cpu = stand.cpu_seconds()? - cpu;
        let count = &crowd.count;
        let hand_overs = count.hand_overs as f64;
        rounds.push([
            (HAND_OVERS, hand_overs / took),
            ("in the queue p50, ms", micros(&count.in_queue, 0.5) / 1e3),
            ("p99, ms", micros(&count.in_queue, 0.99) / 1e3),
            ("commands per acquisition", count.commands as f64 / count.acquisitions as f64),
            ("server CPU per hand-over, us", cpu * 1e6 / hand_overs),
        ]);
        Ok(0.0)
    })?;
    // The first round is the warm-up.
    let rounds = &rounds[1..];
    let middle = |place: usize| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[place].1).collect();
        values.sort_by(f64::total_cmp);
        (rounds[0][place].0, median(&values))
    };
    Ok((0..rounds[0].len()).map(middle).collect())
}

/// How long until the next client in the queue has a lock that was acquired with SESSION, after the
/// holder's connection is closed, as the system does for a killed process.
fn killed(size: &Size) -> Result<Table> {
    let mut stand = Stand::new(false)?;
    let mut took = histogram()?;
    for round in 0..size.rounds {
        let mut line = line_up(&mut stand, &format!("lock:killed:{round}"))?;
        let mut holder = next_holder(&mut line)?;
        while !line.is_empty() {
            let start = Instant::now();
            drop(holder);
            holder = next_holder(&mut line)?;
            took.record(start.elapsed().as_nanos() as u64)?;
        }
    }
    let mut table = Table::new(KILLED, &[""], &[]);
    table.note = format!(
        "Each of {CONTENDERS} contenders sends `LOCK.ACQUIRE .. BLOCK .. SESSION`, and every \
         holder's connection is\nclosed as soon as it has the lock, {} times in all. Time from the \
         close to the answer of the next\nholder, in milliseconds:",
        thousands(took.len() as usize)
    );
    let times = [("p50", 0.5), ("p99", 0.99), ("longest", 1.0)];
    let times = times.map(|(name, quantile)| (name, micros(&took, quantile) / 1e3));
    table.push("the next holder", times.to_vec());
    Ok(table)
}

/// All contenders ask for the lock, each on its own connection: one has it, and the others wait.
fn line_up(stand: &mut Stand, lock: &str) -> Result<Vec<UnixStream>> {
    let mut line = Vec::new();
    for number in 0..CONTENDERS {
        let mut stream = connect(&stand.socket)?;
        let token = token(number);
        let ask = ["LOCK.ACQUIRE", lock, &token, LEASE_MS, "BLOCK", "3600000", "SESSION"];
        stream.write_all(&request(&ask))?;
        stream.set_nonblocking(true)?;
        line.push(stream);
    }
    wait_for_line(stand, CONTENDERS - 1)?;
    Ok(line)
}

fn wait_for_line(stand: &mut Stand, waiters: usize) -> Result<()> {
    let start = Instant::now();
    while stand.info("seckill", "seckill_locks_waiting")? != waiters.to_string() {
        if start.elapsed() > SILENCE_MAX {
            return Err(format!("the line never had {waiters} clients").into());
        }
    }
    Ok(())
}

/// Removes the client that is answered that it has the lock from the line.
fn next_holder(line: &mut Vec<UnixStream>) -> Result<UnixStream> {
    let start = Instant::now();
    while start.elapsed() < SILENCE_MAX {
        for place in 0..line.len() {
            match read_some(&mut line[place])? {
                Some(reply) if reply == b":1\r\n" => return Ok(line.swap_remove(place)),
                Some(reply) => return Err(reply.escape_ascii().to_string().into()),
                None => {}
            }
        }
    }
    Err("nobody got the lock of a holder who is gone".into())
}

/// The memory of a waiter, and the times of another client's PING.
fn in_queue(size: &Size) -> Result<Table> {
    let mut stand = Stand::new(false)?;
    let mut pinger = connect(&stand.socket)?;
    let alone = pings(&mut pinger, || Ok(()))?;
    let () = stand.run(&["SET", LOCK, "first"])?;
    let bounds = format!("{0} {0} {0}", size.in_queue);
    let () = stand.run(&["CONFIG", "SET", "seckill.lock-waiters-max", &bounds])?;
    let mut streams: Vec<UnixStream> =
        (0..size.in_queue).map(|_| connect(&stand.socket)).collect::<Result<_>>()?;
    // A connection only has its buffers after its first command.
    streams.iter_mut().try_for_each(ping)?;
    let memory = |stand: &mut Stand| Ok(stand.info("memory", "used_memory")?.parse::<f64>()?);
    let before: f64 = memory(&mut stand)?;
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&waiting_request(&token(number)))?;
    }
    wait_for_line(&mut stand, size.in_queue)?;
    let after: Result<f64> = memory(&mut stand);
    let kilobytes = (after? - before) / size.in_queue as f64 / 1024.0;
    let waiting = pings(&mut pinger, || Ok(()))?;
    let () = stand.run(&["LOCK.RELEASE", LOCK, "first"])?;
    let mut holders = streams.iter_mut().enumerate();
    let handed_over = pings(&mut pinger, || {
        // The holder releases: one hand-over per PING, as long as there are waiters.
        let Some((number, stream)) = holders.next() else { return Ok(()) };
        let mut reply = [0; 4];
        stream.read_exact(&mut reply)?;
        if &reply != b":1\r\n" {
            return Err("a waiter was not served in its turn".into());
        }
        Ok(stream.write_all(&request(&release(false, LOCK, &token(number))))?)
    })?;
    let title = format!("{} clients in the queue", thousands(size.in_queue));
    let mut table = Table::new(title, &[""], &[]);
    table.note = format!(
        "A waiter needs {kilobytes:.1} KB beyond its connection. Nearly all of that is the reply \
         buffers that the\nserver gives every client that a module blocks.\n\n\
         PING of another client, in microseconds:"
    );
    table.push("nobody waits", alone);
    table.push("they wait", waiting);
    table.push("the lock is handed over before each PING", handed_over);
    Ok(table)
}

/// One PING after the other, each right after `beside`.
fn pings(pinger: &mut UnixStream, mut beside: impl FnMut() -> Result<()>) -> Result<Costs> {
    let mut took = histogram()?;
    for _ in 0..PINGS {
        beside()?;
        let start = Instant::now();
        ping(pinger)?;
        took.record(start.elapsed().as_nanos() as u64)?;
    }
    Ok(vec![("p50", micros(&took, 0.5)), ("p99", micros(&took, 0.99))])
}
