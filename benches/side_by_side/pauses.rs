//! How long the main thread is busy at a time with events of the whole server, with a sale and a
//! million other keys: the module is loaded, settings change, roles change, databases are swapped.
//!
//! Two measures of the same events. *Turns*: the CPU time of the longest turn of the event loop,
//! measured inside the server by `BASELINE.TURNS`: it excludes waits for a disk, and is hardly
//! disturbed by other processes. *PINGs*: another client sends one after the other and records the
//! longest wait for a reply: it includes everything, also pauses of the machine itself, which the
//! row of the idle server shows.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use redis::Connection;
use serde::Serialize;

use crate::Result;
use crate::figures::median;
use crate::harness::{self, Server};
use crate::managed::sale::{Kind, Sale};
use crate::options::Size;
use crate::stand::Lab;
use crate::target::Target;
use crate::wire::{check, connect};

const SALE: Sale = Sale { voucher: 8, kind: Kind::Held };
const HOLDS: usize = 1_000;
const IDLE: &str = "nothing";

/// The events, in this order, and the command that causes each.
const EVENTS: [(&str, &str); 8] = [
    (IDLE, ""),
    ("the module is loaded", "MODULE LOAD <module>"),
    ("a setting of locks", "CONFIG SET seckill.lock-lease-ms-max 60000"),
    ("a setting of holds", "CONFIG SET seckill.hold-sweep-ms 100"),
    ("a setting of names", "CONFIG SET seckill.stock-prefix shop:stock:"),
    ("becomes a replica", "REPLICAOF 127.0.0.1 1"),
    ("is promoted", "REPLICAOF NO ONE"),
    ("databases change places", "SWAPDB 0 1"),
];

/// The results; no rows if they were not requested.
#[derive(Default, Serialize)]
pub struct Pauses {
    /// Keys that are not the module's.
    pub keys: usize,
    /// Held orders of one managed voucher.
    pub holds: usize,
    pub rounds: u32,
    /// How long turns and PINGs are measured after the command.
    pub watched_ms: u64,
    pub rows: Vec<Pause>,
}

/// All times are in milliseconds.
#[derive(Serialize)]
pub struct Pause {
    pub event: &'static str,
    /// The command itself, as measured by the server.
    pub command: Span,
    pub longest_turn: Span,
    pub longest_ping: Span,
}

/// A figure over all rounds.
#[derive(Serialize)]
pub struct Span {
    pub lowest: f64,
    pub median: f64,
    pub highest: f64,
}

/// One round of one event, in milliseconds.
struct Seen {
    command: f64,
    turn: f64,
    ping: f64,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Pauses> {
    let saved = save_keys(lab, size.other_keys)?;
    let mut seen: Vec<Vec<Seen>> = EVENTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..size.paused_rounds {
        let mut host = Host::start(lab, &saved)?;
        for (rows, (_, command)) in seen.iter_mut().zip(EVENTS) {
            rows.push(host.watch(command, Duration::from_millis(size.watched_ms))?);
        }
        host.pinger.end()?;
    }
    let rows = EVENTS.iter().zip(&seen).map(|((event, _), seen)| Pause::of(event, seen)).collect();
    Ok(Pauses {
        keys: size.other_keys,
        holds: HOLDS,
        rounds: size.paused_rounds,
        watched_ms: size.watched_ms,
        rows,
    })
}

impl Pauses {
    /// The target for the module's own work, without the row of the idle server.
    pub fn target(&self) -> Option<Target> {
        let events = self.rows.iter().filter(|row| row.event != IDLE);
        let longest = events.map(|row| row.longest_turn.median).reduce(f64::max);
        Target::at_most("longest turn after any event of the server, in ms, at most", 1.0, longest)
    }
}

impl Pause {
    fn of(event: &'static str, seen: &[Seen]) -> Self {
        let span = |of: fn(&Seen) -> f64| Span::of(seen.iter().map(of).collect());
        Self {
            event,
            command: span(|seen| seen.command),
            longest_turn: span(|seen| seen.turn),
            longest_ping: span(|seen| seen.ping),
        }
    }
}

impl Span {
    fn of(mut values: Vec<f64>) -> Self {
        let median = median(&mut values);
        let round = |ms: f64| (ms * 1e3).round() / 1e3;
        let (lowest, highest) = (values[0], values[values.len() - 1]);
        Self { lowest: round(lowest), median: round(median), highest: round(highest) }
    }
}

/// A stopped server with saved data: other keys, and a sale with holds that are due much later.
fn save_keys(lab: &Lab, others: usize) -> Result<Server> {
    let mut stand = lab.stand(false)?;
    SALE.open(&mut stand, HOLDS)?;
    SALE.sell(&mut stand, HOLDS)?;
    let () = stand.run(&["DEBUG", "POPULATE", &others.to_string(), "other", "8"])?;
    let () = stand.run(&["SAVE"])?;
    let mut server = stand.server;
    server.kill9();
    Ok(server)
}

/// A server with the keys, without the module at first.
struct Host {
    control: Connection,
    pinger: Pinger,
    /// Kept for its drop, which ends the server.
    _server: Server,
}

impl Host {
    fn start(lab: &Lab, saved: &Server) -> Result<Self> {
        let server = Server::with()
            .without_module()
            .data_of(saved)
            .config(format!("loadmodule {}", lab.baseline.display()))
            .try_start()
            .map_err(|log| format!("the server did not start:\n{log}"))?;
        let control = redis::Client::open(server.address())?.get_connection()?;
        let pinger = Pinger::start(connect(&server.dir().join("socket"))?);
        Ok(Self { control, pinger, _server: server })
    }

    /// Runs the command, unless it is empty, and measures for this long afterwards.
    fn watch(&mut self, command: &str, during: Duration) -> Result<Seen> {
        let module = harness::module().display().to_string();
        let words: Vec<String> =
            command.split_whitespace().map(|word| word.replace("<module>", &module)).collect();
        let () = self.run(&["CONFIG", "RESETSTAT"])?;
        self.pinger.take_longest();
        let _: (u64, u64) = self.run(&["BASELINE.TURNS"])?;
        if !words.is_empty() {
            let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
            let () = self.run(&words)?;
        }
        thread::sleep(during);
        let (_, turn_ns): (u64, u64) = self.run(&["BASELINE.TURNS"])?;
        let ping_ns = self.pinger.take_longest();
        let command = self.command_us(&words)? / 1e3;
        Ok(Seen { command, turn: turn_ns as f64 / 1e6, ping: ping_ns as f64 / 1e6 })
    }

    /// How long the command took by the server's own statistics.
    fn command_us(&mut self, words: &[String]) -> Result<f64> {
        let Some(name) = words.first() else { return Ok(0.0) };
        let all: HashMap<String, String> = {
            let text: String = self.run(&["INFO", "commandstats"])?;
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.map(|(name, stats)| (name.to_lowercase(), stats.to_owned())).collect()
        };
        let name = format!("cmdstat_{}", name.to_lowercase());
        let with_part = format!("{name}|{}", words[1].to_lowercase());
        let stats = all.get(&with_part).or_else(|| all.get(&name));
        stats
            .and_then(|stats| stats.split(',').find_map(|field| field.strip_prefix("usec=")))
            .and_then(|usec| usec.parse().ok())
            .ok_or_else(|| format!("INFO commandstats has no {with_part}").into())
    }

    fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> Result<T> {
        Ok(redis::cmd(words[0]).arg(&words[1..]).query(&mut self.control)?)
    }
}

/// A client that sends one PING after the other, from a thread that never sleeps.
struct Pinger {
    longest_ns: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<std::result::Result<(), String>>>,
}

impl Pinger {
    fn start(mut stream: UnixStream) -> Self {
        let longest_ns = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let (longest, over) = (Arc::clone(&longest_ns), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !over.load(Relaxed) {
                let sent = Instant::now();
                ping(&mut stream).map_err(|error| error.to_string())?;
                longest.fetch_max(sent.elapsed().as_nanos() as u64, Relaxed);
            }
            Ok(())
        });
        Self { longest_ns, is_over, thread: Some(thread) }
    }

    fn take_longest(&self) -> u64 {
        self.longest_ns.swap(0, Relaxed)
    }

    /// Fails if a PING has failed.
    fn end(&mut self) -> Result<()> {
        self.is_over.store(true, Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = thread.join().map_err(|_| "the thread of the PINGs panicked")?;
        Ok(ended?)
    }
}

impl Drop for Pinger {
    fn drop(&mut self) {
        // An earlier failure is already reported.
        let _ = self.end();
    }
}

fn ping(stream: &mut UnixStream) -> Result<()> {
    stream.write_all(b"PING\r\n")?;
    let mut reply = [0; 7];
    stream.read_exact(&mut reply)?;
    check(&reply, b"+PONG\r\n")
}
