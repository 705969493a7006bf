//! Concurrent histories of one voucher and of one lock, recorded and checked: `linear` with the
//! models of `sequential`. Some connections give up early and some servers die, so the fate of some
//! commands is unknown.

use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client as Address, ConnectionInfo, Value};

use crate::harness::{DEADLINE, Server, text, wait_for};
use crate::length::{Tally, histories};
use crate::linear::{History, Model, Op, Verdict, check};
use crate::sequential::{Lock, ORDERID, OTHER_ORDER, OnLock, OnSale, Sale, mark_late};
use crate::world::run;

const CONNECTIONS: u8 = 5;
const COMMANDS: usize = 50;
/// At most this many commands are sent before their answers are read.
const DEPTH: usize = 3;
const STOCK: i64 = 14;
const LIMIT: i64 = 3;

/// A command for an object.
trait Spoken: Copy + Send + 'static {
    /// The next command of the client with this number.
    fn random(random: &mut fastrand::Rng, who: u8) -> Self;
    fn words(self) -> String;
}

impl Spoken for OnSale {
    fn random(random: &mut fastrand::Rng, _: u8) -> Self {
        let id = random.u8(0..30);
        // Rarely the order of another user.
        let user = if random.u8(0..20) == 0 { random.u8(0..6) } else { id % 6 };
        match random.u8(0..20) {
            0..7 => Self::Try { user, id, units: random.i64(1..3), waits: random.bool() },
            7..10 => {
                let (second, third) = (random.u8(0..30), random.u8(0..30));
                Self::Batch([(user, id), (second % 6, second), (third % 6, third)])
            }
            10..13 => Self::Confirm { user, id, reference: random.u8(0..3) },
            13 => Self::Extend { user, id },
            14..18 => {
                let only = random.choice([None, Some('h'), Some('s')]).expect("one");
                Self::Cancel { user, id, only }
            }
            _ => Self::Info,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Try { user, id, units, waits } => {
                let waits = if waits { " WAITLIST" } else { "" };
                format!("SECKILL.TRY v {user} {id} UNITS {units}{waits}")
            }
            Self::Batch([(a, b), (c, d), (e, f)]) => {
                format!("SECKILL.MTRY v {a} {b} {c} {d} {e} {f}")
            }
            Self::Confirm { user, id, reference: 0 } => format!("SECKILL.CONFIRM v {user} {id}"),
            Self::Confirm { user, id, reference } => {
                format!("SECKILL.CONFIRM v {user} {id} REF {reference}")
            }
            Self::Extend { user, id } => format!("SECKILL.EXTEND v {user} {id} 900000"),
            Self::Cancel { user, id, only } => {
                let only = match only {
                    None => "",
                    Some('h') => " IF held",
                    Some(_) => " IF sold",
                };
                format!("SECKILL.CANCEL v {user} {id}{only}")
            }
            Self::Info => "SECKILL.INFO v".to_owned(),
        }
    }
}

impl Spoken for OnLock {
    fn random(random: &mut fastrand::Rng, who: u8) -> Self {
        // Tokens belong to one client, and to its later connections.
        let token = who * 2 + random.u8(0..2);
        let lease = Duration::from_millis(random.choice([5, 40, 600_000]).expect("one"));
        match random.u8(0..10) {
            0..5 => Self::Acquire {
                token,
                lease,
                wait_ms: random.choice([0, 3]).expect("one"),
                is_late: false,
            },
            5 => Self::Renew { token, lease },
            _ => Self::Release { token },
        }
    }

    fn words(self) -> String {
        match self {
            Self::Acquire { token, lease, wait_ms, .. } => {
                format!("LOCK.ACQUIRE l {token} {} BLOCK {wait_ms} FENCE", lease.as_millis())
            }
            Self::Renew { token, lease } => format!("LOCK.RENEW l {token} {}", lease.as_millis()),
            Self::Release { token } => format!("LOCK.RELEASE l {token}"),
        }
    }
}

/// An answer as numbers: one or more outcomes, or the units left, held and sold.
fn numbers(value: &Value) -> Vec<i64> {
    match value {
        Value::Int(number) => vec![*number],
        Value::ServerError(error) if error.code() == "ORDERID" => vec![ORDERID],
        Value::ServerError(error) if error.code() == "REF" => vec![OTHER_ORDER],
        Value::Array(answers) if !matches!(answers[0], Value::BulkString(_)) => {
            answers.iter().flat_map(numbers).collect()
        }
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
    /// How long a connection waits for an answer.
    patience: Duration,
    answered: Arc<AtomicUsize>,
}

impl Common {
    /// A connection to a server that has loaded its data.
    fn connect(&self, patience: Duration) -> redis::Connection {
        let connected = wait_for("a connection", || {
            let client = Address::open(self.address.clone()).ok()?;
            let mut connection = client.get_connection_with_timeout(DEADLINE).ok()?;
            connection.set_read_timeout(Some(DEADLINE)).ok()?;
            redis::cmd("PING").query::<String>(&mut connection).ok()?;
            connection.set_read_timeout(Some(patience)).ok()?;
            Some(connection)
        });
        connected.expect("a server")
    }

    /// Sends commands, and continues on a new connection when an answer does not arrive.
    fn talk<C: Spoken>(&self, random: &mut fastrand::Rng, who: u8) -> History<C> {
        let mut history = Vec::new();
        let mut left = COMMANDS;
        while left > 0 {
            // A client that gives up often leaves too many open commands for the check.
            let is_first = history.is_empty();
            let mut connection = self.connect(if is_first { self.patience } else { DEADLINE });
            let mut ops: Vec<Op<C>> = Vec::new();
            while left > 0 && ops.last().is_none_or(|op| op.back.is_some()) {
                let from = ops.len();
                let call = self.start.elapsed();
                let mut packed = Vec::new();
                for _ in 0..random.usize(1..=DEPTH.min(left)) {
                    let command = C::random(random, who);
                    let words = command.words();
                    let mut words = words.split(' ');
                    let mut cmd = redis::cmd(words.next().expect("a name"));
                    cmd.arg(words.collect::<Vec<_>>());
                    packed.extend(cmd.get_packed_command());
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

/// The disturbance of the server meanwhile.
fn disturb(server: &mut Server, how: u8, random: &mut fastrand::Rng, answered: &AtomicUsize) {
    if how > 0 {
        let next = answered.load(Ordering::Relaxed) + random.usize(1..COMMANDS);
        let enough = usize::from(CONNECTIONS) * COMMANDS / 2;
        let come = wait_for("answers", || {
            (answered.load(Ordering::Relaxed) >= next.min(enough)).then_some(())
        });
        come.expect("answers");
        if how == 1 {
            // Impatient clients give up, but their commands still run.
            run(server, "DEBUG SLEEP 0.05");
        } else {
            server.kill9();
            server.mend();
            server.start_again();
        }
    }
}

/// Records the commands of many connections for one object, with no disturbance (0), with pauses
/// (1) or with crashes (2).
fn record<C: Spoken>(server: &mut Server, seed: u64, how: u8) -> (History<C>, Tally) {
    let mut random = fastrand::Rng::with_seed(seed);
    let common = Common {
        address: server.address(),
        start: Instant::now(),
        patience: if how == 1 { Duration::from_millis(15) } else { DEADLINE },
        answered: Arc::default(),
    };
    let threads = (0..CONNECTIONS).map(|who| {
        let common = common.clone();
        let mut random = fastrand::Rng::with_seed(seed ^ u64::from(who));
        thread::spawn(move || common.talk::<C>(&mut random, who))
    });
    let threads: Vec<_> = threads.collect();
    disturb(server, how, &mut random, &common.answered);
    let talks = threads.into_iter().map(|thread| thread.join().expect("a connection"));
    let mut history: History<C> = talks.flatten().collect();
    let commands = history.iter().map(Vec::len).sum();
    // A last connection reads the final state.
    let one = Common { patience: DEADLINE, ..common.clone() };
    history.push(one.talk::<C>(&mut random, 0).into_iter().flatten().collect());
    let answered = common.answered.load(Ordering::Relaxed) - COMMANDS;
    (history, Tally { commands, answered, ends: 1, ..Tally::default() })
}

fn sale() -> Sale {
    Sale { left: STOCK, limit: LIMIT, ..Sale::default() }
}

/// Fails unless histories of one object are linearizable. Few may be undecided.
fn are_linearizable<M: Model<Command: Spoken + Debug>>(
    name: &str,
    short: usize,
    server: impl Fn() -> Server,
    start: M,
    mark: fn(&mut History<M::Command>),
) {
    let (count, undecided) = (Cell::new(0), Cell::new(0));
    histories(name, short, |seed| {
        let (mut history, tally) = record(&mut server(), seed, (seed % 3) as u8);
        mark(&mut history);
        match check(start.clone(), &history) {
            Verdict::Linearizable => {}
            Verdict::Impossible(stuck) => {
                panic!("not linearizable, {stuck}\n{}", shown(&history));
            }
            Verdict::Undecided => undecided.set(undecided.get() + 1),
        }
        count.set(count.get() + 1);
        tally
    });
    let (count, undecided) = (count.get(), undecided.get());
    println!("{name}: {undecided} of {count} undecided");
    assert!(undecided * 2 <= count, "{undecided} of {count} are undecided");
}

/// A history in the order of sending, one line per command.
fn shown<C: Debug>(history: &History<C>) -> String {
    let numbered = history.iter().enumerate();
    let mut all: Vec<_> =
        numbered.flat_map(|(by, ops)| ops.iter().map(move |op| (by, op))).collect();
    all.sort_by_key(|(_, op)| op.call);
    let line =
        |(by, op): (usize, &Op<C>)| format!("{by} {:?}..{:?} {:?}", op.call, op.back, op.command);
    all.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn server_with_sale() -> Server {
    let server = Server::with().aof().start();
    let create = format!("SECKILL.CREATE v {STOCK} LIMIT {LIMIT} HOLD 600000");
    assert_eq!(run(&server, &create), Value::Okay);
    server
}

#[test]
fn histories_of_a_voucher_are_linearizable() {
    are_linearizable("linearizable: a voucher", 6, server_with_sale, sale(), |_| {});
}

#[test]
fn histories_of_a_lock_are_linearizable() {
    let server = || Server::with().aof().start();
    are_linearizable("linearizable: a lock", 6, server, Lock::FREE, mark_late);
}
