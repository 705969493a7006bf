//! Many connections that send their scripts until they are stopped or the server is gone, and keep
//! their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::harness::{Client, Server, Wire, text, wait_for};
use crate::length::Tally;
use crate::script::Script;
use redis::Value;

const CONNECTIONS: usize = 6;

/// At most this many commands are sent before their answers are read.
pub const DEPTH: usize = 6;

/// A command that was sent, and its answer if there was one. A command without an answer may have
/// run or not.
#[derive(Debug)]
pub struct Sent {
    pub words: Vec<String>,
    pub at: Instant,
    pub back: Option<(Instant, Value)>,
}

impl Sent {
    pub fn is(&self, name: &str) -> bool {
        self.words[0] == name
    }

    pub fn answer(&self) -> Option<&Value> {
        self.back.as_ref().map(|(_, value)| value)
    }

    /// Is there no answer?
    pub fn is_open(&self) -> bool {
        self.back.is_none()
    }

    /// The outcome, if the answer has one: an integer, alone or first in an array.
    pub fn outcome(&self) -> Option<i64> {
        match self.answer()? {
            Value::Int(number) => Some(*number),
            Value::Array(items) => match items.first() {
                Some(Value::Int(number)) => Some(*number),
                _ => None,
            },
            _ => None,
        }
    }

    /// The tries of a batch, and those of a cart, as if each had been sent alone; any other command
    /// unchanged.
    fn apart(self) -> Vec<Self> {
        let Self { words, at, back } = self;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let tries: Vec<[&str; 3]> = match &words[..] {
            ["SECKILL.MTRY", voucher, pairs @ ..] => {
                pairs.chunks(2).map(|pair| [voucher, pair[0], pair[1]]).collect()
            }
            ["SECKILL.TRYALL", articles @ .., user, id] => {
                articles.chunks(2).map(|article| [article[0], user, id]).collect()
            }
            _ => {
                let words = words.into_iter().map(str::to_owned).collect();
                return vec![Self { words, at, back }];
            }
        };
        let one = |(number, [voucher, user, id]): (usize, [&str; 3])| {
            let name = ["SECKILL.TRY", voucher, user, id];
            let back = back.as_ref().map(|(at, value)| match value {
                Value::Array(answers) => (*at, answers[number].clone()),
                error => (*at, error.clone()),
            });
            Self { words: name.map(str::to_owned).to_vec(), at, back }
        };
        tries.into_iter().enumerate().map(one).collect()
    }

    /// The answer's element after the outcome, as text.
    pub fn second(&self) -> Option<String> {
        match self.answer()? {
            Value::Array(items) => items.get(1).filter(|item| **item != Value::Nil).map(text),
            _ => None,
        }
    }
}

/// The commands that one connection has sent, in order.
pub type Log = Vec<Sent>;

pub struct Load {
    threads: Vec<JoinHandle<Log>>,
    /// The connections stop once all of them together have got this many answers.
    most: Arc<AtomicUsize>,
    answered: Arc<AtomicUsize>,
}

impl Load {
    /// Connects and starts. `round` makes the names of users, ids and tokens differ.
    pub fn start(server: &Server, seed: u64, round: usize) -> Self {
        Self::of(CONNECTIONS, usize::MAX, server, seed, round)
    }

    /// The first `most` answers or a few more, however late a busy machine would let a test stop
    /// the connections: so something is left of every sale.
    pub fn beginning(most: usize, server: &Server, seed: u64) -> Vec<Log> {
        Self::of(CONNECTIONS, most, server, seed, 0).logs()
    }

    /// One connection.
    pub fn alone(server: &Server, seed: u64, round: usize) -> Self {
        Self::of(1, usize::MAX, server, seed, round)
    }

    fn of(connections: usize, most: usize, server: &Server, seed: u64, round: usize) -> Self {
        let answered = Arc::<AtomicUsize>::default();
        let most = Arc::new(AtomicUsize::new(most));
        let threads = (0..connections).map(|connection| {
            let (most, answered) = (Arc::clone(&most), Arc::clone(&answered));
            let script = Script::new(&format!("{round}c{connection}"), seed);
            let depth = fastrand::Rng::with_seed(seed ^ connection as u64);
            let client = server.client();
            thread::spawn(move || run(client, script, depth, &most, &answered))
        });
        Self { threads: threads.collect(), most, answered }
    }

    /// Waits until the connections have got this many answers.
    pub fn wait_for_answers(&self, count: usize) {
        let come = wait_for("answers", || {
            let enough = self.answered.load(Ordering::Relaxed) >= count;
            (enough || self.threads.iter().any(JoinHandle::is_finished)).then_some(())
        });
        come.expect("answers to the load");
    }

    pub fn wait_for_more_answers(&self, count: usize) {
        self.wait_for_answers(self.answered.load(Ordering::Relaxed) + count);
    }

    /// Lets every connection stop after the answers that it waits for; returns what they sent.
    pub fn end(self) -> Vec<Log> {
        self.most.store(0, Ordering::Relaxed);
        self.logs()
    }

    fn logs(self) -> Vec<Log> {
        let threads = self.threads.into_iter();
        threads.map(|thread| thread.join().expect("a connection")).collect()
    }
}

/// Answers that a command of a script may get besides its outcomes.
const REFUSALS: [&str; 9] = [
    "STOCK", "READONLY", "UNBLOCKED", "MISCONF", "MASTERDOWN", "NOREPLICAS", "BUSYKEY",
    "NOVOUCHER", "NOENTRY",
];

fn run(
    mut client: Client,
    mut script: Script,
    mut depth: fastrand::Rng,
    most: &AtomicUsize,
    answered: &AtomicUsize,
) -> Log {
    let mut log = Log::new();
    while answered.load(Ordering::Relaxed) < most.load(Ordering::Relaxed) {
        let depth = depth.usize(1..=DEPTH);
        if !batch(client.raw(), &mut script, depth, answered, &mut log) {
            break;
        }
    }
    log
}

/// Sends some commands of a script and reads the answers. Did all arrive? The tries of SECKILL.MTRY
/// and SECKILL.TRYALL are logged one by one.
pub fn batch(
    connection: &mut Wire,
    script: &mut Script,
    depth: usize,
    answered: &AtomicUsize,
    log: &mut Log,
) -> bool {
    let mut sent = Log::new();
    let is_answered = talk(connection, script, depth, answered, &mut sent);
    log.extend(sent.into_iter().flat_map(Sent::apart));
    is_answered
}

fn talk(
    connection: &mut Wire,
    script: &mut Script,
    depth: usize,
    answered: &AtomicUsize,
    log: &mut Log,
) -> bool {
    let mut is_sent = true;
    for _ in 0..depth {
        let words = script.next();
        let mut packed = redis::cmd(&words[0]);
        packed.arg(&words[1..]);
        let at = Instant::now();
        is_sent &= connection.send_packed_command(&packed.get_packed_command()).is_ok();
        log.push(Sent { words, at, back: None });
    }
    for sent in log {
        let Ok(value) = connection.recv_response() else { return false };
        if let Value::ServerError(_) = &value {
            let error = text(&value);
            let code = error.split(' ').next().unwrap_or_default();
            assert!(REFUSALS.contains(&code), "{:?} gave {error}", sent.words);
        }
        sent.back = Some((Instant::now(), value));
        answered.fetch_add(1, Ordering::Relaxed);
        script.hear(sent);
    }
    is_sent
}

/// The sums of some logs.
pub fn tally(logs: &[Log]) -> Tally {
    let answered = logs.iter().flatten().filter(|sent| !sent.is_open()).count();
    Tally { commands: logs.iter().map(Vec::len).sum(), answered, ..Tally::default() }
}
