//! Many clients and long histories: two clients are never inside at once, and the line behaves like
//! a list.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use crate::differential::seed;
use crate::harness::{Client, Server, text, wait_for};
use crate::locks_line::id_of;
use crate::observe::integer;
use redis::Value;

const THREADS: usize = 8;
const ROUNDS: usize = 60;

/// Increments a counter in a way that loses updates if two clients are inside at once.
fn add_one(client: &mut Client) {
    let count: i64 = match client.run("GET counter") {
        Value::Nil => 0,
        value => text(&value).parse().expect("a number"),
    };
    client.call(&["SET", "counter", &(count + 1).to_string()]);
}

/// Acquires with LOCK.ACQUIRE, in line, and releases with a command or a script.
fn in_line(client: &mut Client, token: &str, random: &mut fastrand::Rng) {
    while client.call(&["LOCK.ACQUIRE", "lock", token, "60000", "BLOCK", "20000"]) != Value::Int(1)
    {
    }
    add_one(client);
    let released = match random.u8(0..3) {
        0 => client.call(&["EVAL", UNLOCK, "1", "lock", token]),
        _ => client.call(&["LOCK.RELEASE", "lock", token]),
    };
    assert_eq!(released, Value::Int(1), "{token}");
}

/// Acquires by spinning, as applications without the module do.
fn by_spinning(client: &mut Client, token: &str) {
    while client.call(&["SET", "lock", token, "NX", "PX", "60000"]) != Value::Okay {
        thread::sleep(Duration::from_millis(1));
    }
    add_one(client);
    assert_eq!(client.call(&["EVAL", UNLOCK, "1", "lock", token]), Value::Int(1), "{token}");
}

const UNLOCK: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

#[test]
fn no_update_is_lost_under_a_lock() {
    let server = Server::with().aof().start();
    let seed = seed();
    println!("SEED={seed}");
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let mut client = server.client();
            thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed ^ thread as u64);
                for round in 0..ROUNDS {
                    let token = format!("{thread}-{round}");
                    // Two of the eight clients don't use the module.
                    match thread {
                        0 | 1 => by_spinning(&mut client, &token),
                        _ => in_line(&mut client, &token, &mut random),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    server.check(&format!("> GET counter\n{}\n> EXISTS lock\n0", THREADS * ROUNDS));
    assert_eq!(server.in_line(), 0);
    server.assert_reload_changes_nothing();
}

/// As above, with waiters that are killed while others arrive and leave, and short waits.
#[test]
fn no_update_is_lost_while_clients_die() {
    let server = Server::start();
    let seed = seed();
    println!("SEED={seed}");
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (address, log) = (server.address(), server.dir().join("log"));
            thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed ^ thread as u64);
                let connect = || Client::connect(&address, log.clone()).expect("a connection");
                let mut client = connect();
                for round in 0..ROUNDS {
                    let token = format!("{thread}-{round}");
                    if thread < 3 {
                        // Disconnects before the answer. A client that got the lock no longer needs
                        // it: it is released, or its lease ends.
                        let ask = ["LOCK.ACQUIRE", "lock", &token, "40", "BLOCK", "1000"];
                        client.send(&ask);
                        thread::sleep(Duration::from_micros(random.u64(0..3000)));
                        client = connect();
                        continue;
                    }
                    in_line(&mut client, &token, &mut random);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    server.check(&format!("> GET counter\n{}", (THREADS - 3) * ROUNDS));
    server.wait_for_line(0);
    server.wait_for_owner("lock", "");
}

/// The model: the owner of the lock, the line, and the last fencing token.
#[derive(Default)]
struct Model {
    owner: Option<String>,
    /// The seat whose connection the lock is tied to.
    tied: Option<usize>,
    line: VecDeque<InLine>,
    fence: i64,
}

struct InLine {
    seat: usize,
    with_session: bool,
}

impl Model {
    /// The lock is free: the first in line gets it. Returns its seat.
    fn hand_over(&mut self, token: impl Fn(usize) -> String) -> Option<usize> {
        let next = self.line.pop_front();
        self.owner = next.as_ref().map(|next| token(next.seat));
        self.tied = next.as_ref().filter(|next| next.with_session).map(|next| next.seat);
        next.map(|next| next.seat)
    }
}

struct Seat {
    client: Client,
    id: String,
}

const SEATS: usize = 6;

fn token(seat: usize) -> String {
    format!("seat{seat}")
}

struct History {
    server: Server,
    seats: Vec<Seat>,
    model: Model,
    random: fastrand::Rng,
}

impl History {
    fn new(seed: u64) -> Self {
        let server = Server::start();
        let seats = (0..SEATS).map(|_| sit(&server)).collect();
        let random = fastrand::Rng::with_seed(seed);
        Self { server, seats, model: Model::default(), random }
    }

    /// The server has the owner and the length of the line that the model has.
    fn compare(&mut self, what: &str) {
        let owner = self.model.owner.clone().unwrap_or_default();
        self.server.wait_for_owner("lock", &owner);
        self.server.wait_for_line(self.model.line.len() as i64);
        let waiters = match self.server.run("LOCK.INFO lock") {
            Value::Array(pairs) => integer(&pairs[7]),
            _ => 0,
        };
        assert_eq!(waiters, self.model.line.len() as i64, "after {what}");
    }

    fn freed(&mut self) {
        if let Some(next) = self.model.hand_over(token) {
            self.check_fence(next);
        }
    }

    fn check_fence(&mut self, seat: usize) {
        let fence = integer(&self.seats[seat].client.receive());
        assert!(fence > self.model.fence, "{fence} after {}", self.model.fence);
        self.model.fence = fence;
    }

    fn acquire(&mut self, seat: usize) {
        let wait = if self.random.bool() { " BLOCK 60000" } else { "" };
        let with_session = self.random.bool();
        let session = if with_session { " SESSION" } else { "" };
        let ask = format!("LOCK.ACQUIRE lock {} 1000000{wait} FENCE{session}", token(seat));
        let is_own = self.model.owner == Some(token(seat));
        if self.model.owner.is_none() || is_own {
            self.seats[seat].client.send(&crate::transcript::argv(&ask));
            let fence = integer(&self.seats[seat].client.receive());
            assert_eq!(is_own, fence == self.model.fence, "{fence}, {}", self.model.fence);
            assert!(fence >= self.model.fence);
            self.model.fence = fence;
            self.model.owner = Some(token(seat));
            self.model.tied = with_session.then_some(seat);
        } else if wait.is_empty() {
            assert_eq!(self.seats[seat].client.run(&ask), Value::Int(0));
        } else {
            self.server.queue(&mut self.seats[seat].client, &ask);
            self.model.line.push_back(InLine { seat, with_session });
        }
    }

    fn step(&mut self) {
        let seat = self.random.usize(..SEATS);
        let is_waiting = self.model.line.iter().any(|other| other.seat == seat);
        let is_owner = self.model.owner == Some(token(seat));
        let what = self.random.u8(0..13);
        match what {
            0..4 if !is_waiting => self.acquire(seat),
            4 | 5 if !is_waiting => {
                let reply =
                    self.seats[seat].client.run(&format!("LOCK.RELEASE lock {}", token(seat)));
                assert_eq!(reply, Value::Int(is_owner.into()));
                if is_owner {
                    self.freed();
                }
            }
            6 if !is_waiting => {
                let renew = format!("LOCK.RENEW lock {} 1000000", token(seat));
                assert_eq!(self.seats[seat].client.run(&renew), Value::Int(is_owner.into()));
            }
            7 | 8 if self.model.owner.is_some() => {
                // The lease ends, at once or soon.
                let end = ["PEXPIRE lock 3", "PEXPIREAT lock 1", "RENAME lock away", "DEL lock"];
                self.server.run(end[self.random.usize(..end.len())]);
                self.freed();
            }
            9 if is_waiting => {
                self.model.line.retain(|other| other.seat != seat);
                self.seats[seat] = sit(&self.server);
            }
            10 if is_waiting => {
                self.model.line.retain(|other| other.seat != seat);
                self.server.run(&format!("CLIENT UNBLOCK {}", self.seats[seat].id));
                assert_eq!(self.seats[seat].client.receive(), Value::Int(0));
            }
            11 if is_owner && !is_waiting => {
                self.die_between(seat);
            }
            12 if !is_waiting => {
                // Disconnects, and loses the lock if it is tied to this connection.
                self.seats[seat] = sit(&self.server);
                if self.model.tied == Some(seat) {
                    self.freed();
                }
            }
            _ => return,
        }
        self.compare(&format!("step {what} of seat {seat}"));
    }

    /// The owner releases, and in the same step the first in line is killed.
    fn die_between(&mut self, owner: usize) {
        let Some(first) = self.model.line.pop_front() else { return };
        let first = first.seat;
        let kill = format!("CLIENT KILL ID {}", self.seats[first].id);
        let client = &mut self.seats[owner].client;
        client.run("MULTI");
        client.run(&format!("LOCK.RELEASE lock {}", token(owner)));
        client.run(&kill);
        client.run("EXEC");
        self.seats[first] = sit(&self.server);
        self.freed();
    }
}

fn sit(server: &Server) -> Seat {
    let mut client = server.client();
    let id = id_of(&mut client);
    Seat { client, id }
}

#[test]
fn random_histories_are_those_of_the_model() {
    let seed = seed();
    for history in 0..6 {
        println!("SEED={seed} history {history}");
        let mut run = History::new(seed ^ history);
        for _ in 0..250 {
            run.step();
        }
    }
}

const WORDS: [&[u8]; 19] = [
    b"",
    b"lock",
    b"a}b",
    b"\0",
    b"\xff\xfe",
    b"\r\n",
    b"%s%n",
    b"0",
    b"1",
    b"-1",
    b"5",
    b"1.5",
    b"9223372036854775807",
    b"9223372036854775808",
    b"BLOCK",
    b"fence",
    b"Session",
    b"NX",
    b"{lock}",
];

#[test]
fn hostile_bytes_do_no_harm() {
    let server = Server::with().config("seckill.lock-wait-ms-max 5").start();
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let names = ["LOCK.ACQUIRE", "LOCK.RENEW", "LOCK.RELEASE", "LOCK.INFO", "RPUSH", "SET", "DEL"];
    let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for _ in 0..3000 {
        let mut words = vec![names[random.usize(..names.len())].as_bytes().to_vec()];
        for _ in 0..random.usize(0..8) {
            words.push(match random.u8(0..12) {
                0 => (0..random.usize(0..40)).map(|_| random.u8(..)).collect(),
                1 => vec![random.u8(..); random.usize(0..70_000)],
                _ => WORDS[random.usize(..WORDS.len())].to_vec(),
            });
        }
        // `call` has a deadline: every request is answered.
        let client = random.usize(..clients.len());
        clients[client].call(&words);
    }
    let lives = wait_for("an end of all waits", || (server.in_line() == 0).then_some(()));
    lives.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
    assert!(!server.log().contains("a bug"), "{}", server.log());
}
