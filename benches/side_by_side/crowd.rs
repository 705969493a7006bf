//! Contenders for one lock, each on its own connection, served by one thread that never sleeps: on
//! a machine with two cores, one thread per contender would measure the scheduler.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::Result;
use crate::latency::{histogram, read_some};
use crate::stand::{Stand, UNLOCK, evalsha};
use crate::wire::{SILENCE_MAX, connect, request};

pub const LOCK: &str = "lock:order:1000001";
pub const LEASE_MS: &str = "60000";

/// How to wait for a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Line,
    Spin50,
    Spin1,
    Token,
}

pub const MANNERS: [Manner; 4] = [Manner::Line, Manner::Spin50, Manner::Spin1, Manner::Token];

impl Manner {
    pub fn label(self) -> &'static str {
        match self {
            Self::Line => "LOCK.ACQUIRE .. BLOCK",
            Self::Spin50 => "SET NX every 50 ms",
            Self::Spin1 => "SET NX every 1 ms",
            Self::Token => "BLPOP of the one token",
        }
    }

    /// The requests that acquire and release.
    fn requests(self, token: &str) -> (Vec<u8>, Vec<u8>) {
        let set = request(&["SET", LOCK, token, "NX", "PX", LEASE_MS]);
        match self {
            Self::Line => (waiting_request(token), request(&release(false, LOCK, token))),
            Self::Spin50 | Self::Spin1 => (set, request(&release(true, LOCK, token))),
            Self::Token => (request(&["BLPOP", LOCK, "0"]), request(&["LPUSH", LOCK, "1"])),
        }
    }

    fn is_acquired(self, reply: &[u8]) -> bool {
        match self {
            Self::Line => reply == b":1\r\n",
            Self::Spin50 | Self::Spin1 => reply == b"+OK\r\n",
            Self::Token => reply.starts_with(b"*2\r\n"),
        }
    }

    /// How long a client sleeps after a refusal; none if it is never refused.
    fn sleep(self) -> Option<Duration> {
        match self {
            Self::Spin50 => Some(Duration::from_millis(50)),
            Self::Spin1 => Some(Duration::from_millis(1)),
            _ => None,
        }
    }

    /// Pushes the only token, for which BLPOP waits.
    fn prepare(self, stand: &mut Stand) -> Result<()> {
        let () = stand.run(&["DEL", LOCK])?;
        if self == Self::Token {
            let () = stand.run(&["LPUSH", LOCK, "1"])?;
        }
        Ok(())
    }
}

/// Releases the lock of this owner, by unlock.lua or by the command.
pub fn release(is_script: bool, lock: &str, token: &str) -> Vec<String> {
    let mut words = match is_script {
        true => evalsha(UNLOCK, &[lock]),
        false => vec!["LOCK.RELEASE".to_owned(), lock.to_owned()],
    };
    words.push(token.to_owned());
    words
}

/// A contender's token.
pub fn token(number: usize) -> String {
    format!("7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:{number}")
}

/// Waits in the queue for the lock.
pub fn waiting_request(token: &str) -> Vec<u8> {
    request(&["LOCK.ACQUIRE", LOCK, token, LEASE_MS, "BLOCK", "3600000"])
}

/// What a member does next, or waits for.
#[derive(Clone, Copy)]
enum Phase {
    /// Has finished.
    Done,
    Asked,
    /// Was refused, and tries again at this time.
    Sleeps(Instant),
    Releases,
}

struct Member {
    stream: UnixStream,
    ask: Vec<u8>,
    release: Vec<u8>,
    phase: Phase,
    came: Instant,
}

pub struct Crowd {
    manner: Manner,
    members: Vec<Member>,
    last_owner: Option<usize>,
    pub count: Count,
}

/// What happened in one round.
pub struct Count {
    pub commands: u64,
    pub acquisitions: u64,
    /// Acquisitions by another client than the previous owner.
    pub hand_overs: u64,
    /// From the first request of an acquisition to its success, in nanoseconds.
    pub in_queue: Histogram<u64>,
}

impl Count {
    fn new() -> Result<Self> {
        Ok(Self { commands: 0, acquisitions: 0, hand_overs: 0, in_queue: histogram()? })
    }
}

impl Crowd {
    pub fn connect(stand: &Stand, manner: Manner, size: usize) -> Result<Self> {
        let mut members = Vec::new();
        for number in 0..size {
            let stream = connect(&stand.socket)?;
            stream.set_nonblocking(true)?;
            let (ask, release) = manner.requests(&token(number));
            let came = Instant::now();
            members.push(Member { stream, ask, release, phase: Phase::Done, came });
        }
        Ok(Self { manner, members, last_owner: None, count: Count::new()? })
    }

    /// Before a round.
    pub fn prepare(&mut self, stand: &mut Stand) -> Result<()> {
        self.count = Count::new()?;
        self.manner.prepare(stand)
    }

    /// All members ask for the lock at once. Runs until all have had it.
    pub fn contend(&mut self) -> Result<()> {
        for number in 0..self.members.len() {
            self.ask(number, true)?;
        }
        let mut heard = Instant::now();
        loop {
            let mut is_busy = false;
            let now = Instant::now();
            for number in 0..self.members.len() {
                match self.members[number].phase {
                    Phase::Done => continue,
                    Phase::Sleeps(until) if now >= until => self.ask(number, false)?,
                    Phase::Sleeps(_) => {}
                    Phase::Asked | Phase::Releases => {
                        if self.hear(number)? {
                            heard = now;
                        }
                    }
                }
                is_busy = true;
            }
            if !is_busy {
                return Ok(());
            }
            if heard.elapsed() > SILENCE_MAX {
                return Err("the server has said nothing for too long".into());
            }
        }
    }

    fn ask(&mut self, number: usize, is_first: bool) -> Result<()> {
        let member = &mut self.members[number];
        if is_first {
            member.came = Instant::now();
        }
        member.phase = Phase::Asked;
        member.stream.write_all(&member.ask)?;
        self.count.commands += 1;
        Ok(())
    }

    /// Reads the reply of a member, if there is one.
    fn hear(&mut self, number: usize) -> Result<bool> {
        let member = &mut self.members[number];
        let Some(reply) = read_some(&mut member.stream)? else { return Ok(false) };
        match member.phase {
            Phase::Asked if self.manner.is_acquired(&reply) => self.enter(number)?,
            Phase::Releases if reply == b":1\r\n" => member.phase = Phase::Done,
            _ => match self.manner.sleep().filter(|_| reply == b"$-1\r\n") {
                Some(time) => member.phase = Phase::Sleeps(Instant::now() + time),
                None => return Err(format!("answered \"{}\"", reply.escape_ascii()).into()),
            },
        }
        Ok(true)
    }

    /// The member has the lock, and releases it at once.
    fn enter(&mut self, number: usize) -> Result<()> {
        let member = &mut self.members[number];
        self.count.in_queue.record(member.came.elapsed().as_nanos() as u64)?;
        self.count.acquisitions += 1;
        self.count.hand_overs += u64::from(self.last_owner != Some(number));
        self.last_owner = Some(number);
        member.phase = Phase::Releases;
        member.stream.write_all(&member.release)?;
        self.count.commands += 1;
        Ok(())
    }
}
