//! Locks with a waiting line: hand-overs with many contenders, holders that die, and the memory of
//! ten thousand waiters.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::Result;
use crate::crowd::{Crowd, LEASE_MS, LOCK, MANNERS, Manner, token, waiting_request};
use crate::latency::{histogram, micros, read_some};
use crate::options::Size;
use crate::stand::Stand;
use crate::table::{Costs, Table, in_rounds, median, thousands};
use crate::wire::{SILENCE_MAX, connect, ping, request};

const HAND_OVERS: &str = "hand-overs per second";
const BURST: &str = "64 contenders for one lock";
const KILLED: &str = "Holders that die";
const CONTENDERS: usize = 64;
const BURSTS: usize = 5;

const BURST_NOTE: &str = "\
Each contender has its own connection and does no work while it holds the lock, so only the lock
is measured:

- *LOCK.ACQUIRE .. BLOCK*: this module.
- *SET NX every 50 ms*, *every 1 ms*: polling, released by the usual unlock script.
- *BLPOP of the one token*: the client that pops the only element of a list holds the lock. It
  has no owner and no lease: if a holder dies, all others wait forever.

A hand-over is an acquisition by a client other than the previous owner. The time in the queue is
that from the first request to the acquisition. Server CPU is that of the main thread, divided
by the hand-overs. All clients ask at the same moment, each once.";

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let mut burst = Table::new(BURST, &["manner"], &[]);
    burst.note = BURST_NOTE.to_owned();
    for manner in MANNERS {
        burst.push(manner.label(), contention(size, manner)?);
    }
    Ok(vec![burst, killed(size)?, in_queue(size)?])
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

/// The memory of a waiter.
fn in_queue(size: &Size) -> Result<Table> {
    let mut stand = Stand::new(false)?;
    let () = stand.run(&["SET", LOCK, "first"])?;
    let bounds = format!("{0} {0} {0}", size.in_queue);
    let () = stand.run(&["CONFIG", "SET", "seckill.lock-waiters-max", &bounds])?;
    let mut streams: Vec<UnixStream> =
        (0..size.in_queue).map(|_| connect(&stand.socket)).collect::<Result<_>>()?;
    // A connection only has its buffers after its first command.
    streams.iter_mut().try_for_each(ping)?;
    let before = stand.used_memory()?;
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&waiting_request(&token(number)))?;
    }
    wait_for_line(&mut stand, size.in_queue)?;
    let kilobytes = (stand.used_memory()? - before) / size.in_queue as f64 / 1024.0;
    let title = format!("{} clients in the queue", thousands(size.in_queue));
    let mut table = Table::new(title, &[""], &[]);
    table.note = "A waiter needs this beyond its connection. Nearly all of that is the reply \
                  buffers that the\nserver gives every client that a module blocks."
        .to_owned();
    table.push("memory per waiter", vec![("KB", kilobytes)]);
    Ok(table)
}
