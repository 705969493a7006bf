//! Concurrent histories of one voucher and one lock, recorded and checked by `linear`. Some
//! connections give up early and some servers die, so the fate of some commands is unknown.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use redis::{ConnectionInfo, Value};

use crate::harness::{DEADLINE, Server, Wire, text, wait_for};
use crate::length::{Tally, histories};
use crate::linear::{Command, History, Op, State, Verdict, check};

const CONNECTIONS: u8 = 5;
const COMMANDS: usize = 50;
/// At most this many commands are sent before their answers are read.
const DEPTH: usize = 3;
const STOCK: i64 = 14;

/// The next command of the client with this number, as the model and as the server know it.
fn random_command(random: &mut fastrand::Rng, who: u8) -> (Command, String) {
    let id = random.u8(0..40);
    // Tokens belong to one client, and to its later connections.
    let token = who * 2 + random.u8(0..2);
    let order = format!("v u{id} o{id}");
    match random.u8(0..20) {
        0..6 => (Command::Try(id), format!("SECKILL.TRY {order}")),
        6..9 => (Command::Confirm(id), format!("SECKILL.CONFIRM {order}")),
        9..12 => (Command::Cancel(id), format!("SECKILL.CANCEL {order}")),
        12..14 => (Command::Info, "SECKILL.INFO v".to_owned()),
        14..17 => (Command::Acquire(token), format!("LOCK.ACQUIRE l {token} 600000 FENCE")),
        _ => (Command::Release(token), format!("LOCK.RELEASE l {token}")),
    }
}

/// An answer as numbers: an outcome, or the units left, held and sold.
fn numbers(value: &Value) -> Vec<i64> {
    match value {
        Value::Int(number) => vec![*number],
        Value::Array(pairs) => {
            let of = |name: &str| {
                let pair = pairs.chunks(2).find(|pair| text(&pair[0]) == name).expect(name);
                text(&pair[1]).parse().expect("a number")
            };
            ["left", "held", "sold"].map(of).to_vec()
        }
        other => panic!("{other:?}"),
    }
}

/// What the connections of a history share.
#[derive(Clone)]
struct Common {
    address: ConnectionInfo,
    start: Instant,
    answered: Arc<AtomicUsize>,
}

impl Common {
    /// A connection to a server that has loaded its data, on which an answer may take so long.
    fn connect(&self, patience: Duration) -> Wire {
        let connected = wait_for("a connection", || {
            let mut connection = Wire::connect(&self.address, DEADLINE).ok()?;
            redis::cmd("PING").query::<String>(&mut connection).ok()?;
            Wire::connect(&self.address, patience).ok()
        });
        connected.expect("a server")
    }

    /// Sends commands, and continues on a new connection when an answer does not arrive. Only the
    /// first one is impatient: many open commands would take the check too long.
    fn talk(&self, random: &mut fastrand::Rng, who: u8, patience: Duration) -> History {
        let mut history = History::new();
        let mut left = COMMANDS;
        while left > 0 {
            let patience = if history.is_empty() { patience } else { DEADLINE };
            let mut connection = self.connect(patience);
            let mut ops: Vec<Op> = Vec::new();
            while left > 0 && ops.last().is_none_or(|op| op.back.is_some()) {
                let from = ops.len();
                let call = self.start.elapsed();
                let mut packed = Vec::new();
                for _ in 0..random.usize(1..=DEPTH.min(left)) {
                    let (command, line) = random_command(random, who);
                    let words: Vec<_> = line.split(' ').collect();
                    packed.extend(redis::Cmd::new().arg(words).get_packed_command());
                    ops.push(Op { command, call, back: None });
                    left -= 1;
                }
                if connection.send_packed_command(&packed).is_err() {
                    break;
                }
                for op in &mut ops[from..] {
                    let Ok(value) = connection.recv_response() else { break };
                    op.back = Some((self.start.elapsed(), numbers(&value)));
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
            }
            history.push(ops);
        }
        history
    }
}

/// What happens to the server in the middle of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Disturbance {
    Nothing,
    /// Impatient clients give up, but their commands still run.
    Pause,
    Crash,
}

impl Disturbance {
    fn of(self, server: &mut Server, random: &mut fastrand::Rng, answered: &AtomicUsize) {
        if self == Self::Nothing {
            return;
        }
        let enough = random.usize(1..usize::from(CONNECTIONS) * COMMANDS / 2);
        server.until("answers", || answered.load(Ordering::Relaxed) >= enough);
        if self == Self::Pause {
            server.run("DEBUG SLEEP 0.05");
        } else {
            server.kill9();
            server.fix_aof();
            server.start_again();
        }
    }
}

/// Records the commands of many connections.
fn record(server: &mut Server, seed: u64, disturbance: Disturbance) -> (History, Tally) {
    let mut random = fastrand::Rng::with_seed(seed);
    let common =
        Common { address: server.address(), start: Instant::now(), answered: Arc::default() };
    let is_pause = disturbance == Disturbance::Pause;
    let patience = if is_pause { Duration::from_millis(15) } else { DEADLINE };
    let threads = (0..CONNECTIONS).map(|who| {
        let common = common.clone();
        let mut random = fastrand::Rng::with_seed(seed ^ u64::from(who));
        thread::spawn(move || common.talk(&mut random, who, patience))
    });
    let threads: Vec<_> = threads.collect();
    disturbance.of(server, &mut random, &common.answered);
    let talks = threads.into_iter().map(|thread| thread.join().expect("a connection"));
    let mut history: History = talks.flatten().collect();
    // A last connection reads the final state.
    history.extend(common.talk(&mut random, 0, DEADLINE));
    let commands = history.iter().map(Vec::len).sum();
    let answered = common.answered.load(Ordering::Relaxed);
    (history, Tally { commands, answered, ends: 1, ..Tally::default() })
}

/// A history in the order of sending, one line per command.
fn shown(history: &History) -> String {
    let numbered = history.iter().enumerate();
    let mut all: Vec<_> =
        numbered.flat_map(|(by, ops)| ops.iter().map(move |op| (by, op))).collect();
    all.sort_by_key(|(_, op)| op.call);
    let line =
        |(by, op): (usize, &Op)| format!("{by} {:?}..{:?} {:?}", op.call, op.back, op.command);
    all.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn histories_are_linearizable() {
    let (count, undecided) = (AtomicU32::new(0), AtomicU32::new(0));
    histories("linearizable", 9, |seed| {
        let mut server = Server::with().aof().start();
        server.run(&format!("SECKILL.CREATE v {STOCK} HOLD 600000"));
        let all = [Disturbance::Nothing, Disturbance::Pause, Disturbance::Crash];
        let (history, tally) = record(&mut server, seed, all[(seed % 3) as usize]);
        match check(State::start(STOCK), &history) {
            Verdict::Linearizable => {}
            Verdict::Impossible(stuck) => {
                panic!("not linearizable, {stuck}\n{}", shown(&history));
            }
            Verdict::Undecided => _ = undecided.fetch_add(1, Relaxed),
        }
        count.fetch_add(1, Relaxed);
        tally
    });
    let (count, undecided) = (count.into_inner(), undecided.into_inner());
    println!("{undecided} of {count} undecided");
    assert!(undecided * 2 <= count, "{undecided} of {count} are undecided");
}
