//! Locks with a queue: hand-overs with many contenders, holders that die, and the memory of
//! ten thousand waiters.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use seckill_tools::latency::Latencies;

use crate::Result;
use crate::options::Size;
use crate::stand::{Stand, UNLOCK, evalsha};
use crate::table::{Costs, Table, in_rounds, median, thousands};
use crate::wire::{SILENCE_MAX, Turn, connect, crowd, ping, read_some, request, take_turns};

const HAND_OVERS: &str = "hand-overs per second";
const BURST: &str = "64 contenders for one lock";
const KILLED: &str = "Holders that die";
const CONTENDERS: usize = 64;
const BURSTS: usize = 5;
const LOCK: &str = "lock:order:1000001";
const LEASE_MS: &str = "60000";

const BURST_NOTE: &str = "\
Each contender has its own connection and does no work while it holds the lock, so only the lock
is measured:

- *LOCK.ACQUIRE .. BLOCK*: this module.
- *SET NX every 50 ms*, *every 1 ms*: polling, released by unlock.lua.
- *BLPOP of the one token*: the client that pops the only element of a list holds the lock. It
  has no owner and no lease: if a holder dies, all others wait forever.

A hand-over is an acquisition by a client other than the previous owner. The time in the queue is
that from the first request to the acquisition. Server CPU is that of the main thread, divided
by the hand-overs. All clients ask at the same moment, each once.";

/// How to wait for a lock.
struct Manner {
    label: &'static str,
    /// What asks for the lock, and what releases it; with the token where it is `TOKEN`.
    ask: &'static [&'static str],
    release: &'static [&'static str],
    /// The answer that the lock is acquired begins so.
    acquired: &'static [u8],
    /// How long a client sleeps after a refusal; 0 if it is never refused.
    sleep_ms: u64,
}

const TOKEN: &str = "<token>";
/// Stands for EVALSHA and the hash of unlock.lua.
const BY_SCRIPT: &str = "<script>";
const ACQUIRE: &[&str] = &["LOCK.ACQUIRE", LOCK, TOKEN, LEASE_MS, "BLOCK", "3600000"];
const SPINNING: Manner = Manner {
    label: "SET NX every 50 ms",
    ask: &["SET", LOCK, TOKEN, "NX", "PX", LEASE_MS],
    release: &[BY_SCRIPT, LOCK, TOKEN],
    acquired: b"+OK\r\n",
    sleep_ms: 50,
};
const MANNERS: [Manner; 4] = [
    Manner {
        label: "LOCK.ACQUIRE .. BLOCK",
        ask: ACQUIRE,
        release: &["LOCK.RELEASE", LOCK, TOKEN],
        acquired: b":1\r\n",
        sleep_ms: 0,
    },
    SPINNING,
    Manner { label: "SET NX every 1 ms", sleep_ms: 1, ..SPINNING },
    Manner {
        label: "BLPOP of the one token",
        ask: &["BLPOP", LOCK, "0"],
        release: PUSH,
        acquired: b"*2\r\n",
        sleep_ms: 0,
    },
];
/// The only token, for which BLPOP waits.
const PUSH: &[&str] = &["LPUSH", LOCK, "1"];

/// A contender's token.
fn token(number: usize) -> String {
    format!("7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:{number}")
}

/// The request of a contender.
fn spelled(words: &[&str], number: usize) -> Vec<u8> {
    let spell = |word: &&str| match *word {
        TOKEN => vec![token(number)],
        BY_SCRIPT => evalsha(UNLOCK, &[LOCK])[..3].to_vec(),
        word => vec![word.to_owned()],
    };
    request(&words.iter().flat_map(spell).collect::<Vec<_>>())
}

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let mut burst = Table::new(BURST, "manner", &[]);
    burst.note = BURST_NOTE.to_owned();
    for manner in MANNERS {
        burst.push(manner.label, contention(size, &manner)?);
    }
    Ok(vec![burst, killed(size)?, in_queue(size)?])
}

/// The medians of the rounds, all on the same server and connections.
fn contention(size: &Size, manner: &Manner) -> Result<Costs> {
    let mut stand = Stand::new(false)?;
    let mut streams = crowd(&stand.socket, CONTENDERS)?;
    let requests: Vec<_> = (0..CONTENDERS)
        .map(|number| [manner.ask, manner.release].map(|words| spelled(words, number)))
        .collect();
    let mut rounds = Vec::new();
    in_rounds(size.long_rounds, 1, |_| {
        let () = stand.run(&["DEL", LOCK])?;
        if manner.release == PUSH {
            let () = stand.run(PUSH)?;
        }
        let mut count = Count::default();
        let cpu = stand.cpu_seconds()?;
        let start = Instant::now();
        for _ in 0..BURSTS {
            contend(&mut streams, &requests, manner, &mut count)?;
        }
        let took = start.elapsed().as_secs_f64();
        let cpu = stand.cpu_seconds()? - cpu;
        let hand_overs = count.hand_overs as f64;
        rounds.push([
            (HAND_OVERS, hand_overs / took),
            ("in the queue p50, ms", count.in_queue.ms(0.5)),
            ("p99, ms", count.in_queue.ms(0.99)),
            ("commands per acquisition", count.commands as f64 / count.in_queue.count() as f64),
            ("server CPU per hand-over, us", cpu * 1e6 / hand_overs),
        ]);
        Ok(0.0)
    })?;
    // The first round is the warm-up.
    let rounds = &rounds[1..];
    let middle = |place: usize| {
        let values = rounds.iter().map(|round| round[place].1).collect();
        (rounds[0][place].0, median(values))
    };
    Ok((0..rounds[0].len()).map(middle).collect())
}

/// What happened in one round.
#[derive(Default)]
struct Count {
    commands: u64,
    /// Acquisitions by another client than the previous owner.
    hand_overs: u64,
    last_owner: Option<usize>,
    /// From the first request of an acquisition to its success.
    in_queue: Latencies,
}

/// What a contender waits for.
#[derive(Clone, Copy)]
enum Phase {
    Lock,
    /// Was refused, and tries again at this time.
    Time(Instant),
    Release,
    Nothing,
}

/// All contenders ask for the lock at once, and release it as soon as they have it. Runs until all
/// have had it.
fn contend(
    streams: &mut [UnixStream],
    requests: &[[Vec<u8>; 2]],
    manner: &Manner,
    count: &mut Count,
) -> Result<()> {
    let start = Instant::now();
    let mut phases = vec![Phase::Time(start); streams.len()];
    take_turns(streams.len(), |number| {
        let (stream, phase) = (&mut streams[number], &mut phases[number]);
        let [ask, release] = &requests[number];
        match *phase {
            Phase::Nothing => return Ok(Turn::Done),
            Phase::Time(until) if Instant::now() < until => return Ok(Turn::Waits),
            Phase::Time(_) => {
                stream.write_all(ask)?;
                count.commands += 1;
                *phase = Phase::Lock;
                return Ok(Turn::Waits);
            }
            Phase::Lock | Phase::Release => {}
        }
        let Some(reply) = read_some(stream)? else { return Ok(Turn::Waits) };
        *phase = match *phase {
            Phase::Release if reply == b":1\r\n" => Phase::Nothing,
            Phase::Lock if reply.starts_with(manner.acquired) => {
                count.in_queue.add(start.elapsed());
                count.hand_overs += u64::from(count.last_owner != Some(number));
                count.last_owner = Some(number);
                stream.write_all(release)?;
                count.commands += 1;
                Phase::Release
            }
            Phase::Lock if manner.sleep_ms > 0 && reply == b"$-1\r\n" => {
                Phase::Time(Instant::now() + Duration::from_millis(manner.sleep_ms))
            }
            _ => return Err(format!("answered \"{}\"", reply.escape_ascii()).into()),
        };
        Ok(Turn::Heard)
    })
}

/// How long until the next client in the queue has a lock that was acquired with SESSION, after the
/// holder's connection is closed, as the system does for a killed process.
fn killed(size: &Size) -> Result<Table> {
    let mut stand = Stand::new(false)?;
    let mut took = Latencies::default();
    for round in 0..size.rounds {
        let mut line = line_up(&mut stand, &format!("lock:killed:{round}"))?;
        let mut holder = next_holder(&mut line)?;
        while !line.is_empty() {
            let start = Instant::now();
            drop(holder);
            holder = next_holder(&mut line)?;
            took.add(start.elapsed());
        }
    }
    let mut table = Table::new(KILLED, "", &[]);
    table.note = format!(
        "Each of {CONTENDERS} contenders sends `LOCK.ACQUIRE .. BLOCK .. SESSION`, and every \
         holder's connection is\nclosed as soon as it has the lock, {} times in all. Time from the \
         close to the answer of the next\nholder, in milliseconds:",
        thousands(took.count() as usize)
    );
    let times = [("p50", 0.5), ("p99", 0.99), ("longest", 1.0)];
    let times = times.map(|(name, quantile)| (name, took.ms(quantile)));
    table.push("the next holder", times.to_vec());
    Ok(table)
}

/// All contenders ask for the lock, each on its own connection: one has it, and the others wait.
fn line_up(stand: &mut Stand, lock: &str) -> Result<Vec<UnixStream>> {
    let mut line = Vec::new();
    for number in 0..CONTENDERS {
        let mut stream = connect(&stand.socket)?;
        let words = ["LOCK.ACQUIRE", lock, TOKEN, LEASE_MS, "BLOCK", "3600000", "SESSION"];
        stream.write_all(&spelled(&words, number))?;
        stream.set_nonblocking(true)?;
        line.push(stream);
    }
    wait_for_line(stand, CONTENDERS - 1);
    Ok(line)
}

fn wait_for_line(stand: &Stand, waiters: usize) {
    let waiting = || stand.server.info_number("seckill_locks_waiting");
    stand.server.until("all to wait", || waiting() == waiters as i64);
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
    let used_memory = || stand.server.info_number("used_memory");
    let before = used_memory();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&spelled(ACQUIRE, number))?;
    }
    wait_for_line(&stand, size.in_queue);
    let kilobytes = (used_memory() - before) as f64 / size.in_queue as f64 / 1024.0;
    let title = format!("{} clients in the queue", thousands(size.in_queue));
    let mut table = Table::new(title, "", &[]);
    table.note = "A waiter needs this beyond its connection. Nearly all of that is the reply \
                  buffers that the\nserver gives every client that a module blocks."
        .to_owned();
    table.push("memory per waiter", vec![("KB", kilobytes)]);
    Ok(table)
}
