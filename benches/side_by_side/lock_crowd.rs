//! Contenders for one lock, each on its own connection, served by one thread that never sleeps: on
//! a machine with two cores, one thread per contender would measure the scheduler.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::Result;
use crate::lock_manner::{Manner, Patience};
use crate::stand::Stand;
use crate::wire::connect;

const SILENCE_MAX: Duration = Duration::from_secs(30);
const NANOS_MAX: u64 = 600_000_000_000;

/// What a member does next, or waits for.
#[derive(Clone, Copy)]
enum Phase {
    /// Has finished.
    Done,
    Asked,
    /// Was refused, and tries again at this time.
    Sleeps(Instant),
    /// Was refused, and tries again after the next reply.
    Listens,
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

/// What happened since the count was started.
pub struct Count {
    pub commands: u64,
    pub acquisitions: u64,
    /// Acquisitions by another client than the previous owner.
    pub hand_overs: u64,
    /// From the first request of an acquisition to its success, in nanoseconds.
    pub in_line: Histogram<u64>,
}

impl Count {
    fn new() -> Result<Self> {
        let in_line = Histogram::new_with_bounds(1, NANOS_MAX, 3)?;
        Ok(Self { commands: 0, acquisitions: 0, hand_overs: 0, in_line })
    }
}

impl Crowd {
    pub fn connect(stand: &Stand, manner: Manner, size: usize) -> Result<Self> {
        let mut members = Vec::new();
        for number in 0..size {
            let stream = connect(&stand.socket)?;
            stream.set_nonblocking(true)?;
            let token = format!("7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:{number}");
            let (ask, release) = manner.requests(stand, &token);
            let came = Instant::now();
            members.push(Member { stream, ask, release, phase: Phase::Done, came });
        }
        let count = Count::new()?;
        Ok(Self { manner, members, last_owner: None, count })
    }

    /// All members ask for the lock at once; each is finished after one acquisition.
    pub fn burst(&mut self) -> Result<()> {
        for number in 0..self.members.len() {
            self.ask(number, true)?;
        }
        self.serve(None)
    }

    /// Each member asks again as soon as it has released the lock, for this long.
    pub fn steady(&mut self, during: Duration) -> Result<()> {
        for number in 0..self.members.len() {
            self.ask(number, true)?;
        }
        self.serve(Some(Instant::now() + during))
    }

    /// Runs until all members are finished, which none is before `end`.
    fn serve(&mut self, end: Option<Instant>) -> Result<()> {
        let mut heard = Instant::now();
        loop {
            let mut busy = false;
            let now = Instant::now();
            let comes_again = end.is_some_and(|end| now < end);
            for number in 0..self.members.len() {
                match self.members[number].phase {
                    Phase::Done => continue,
                    Phase::Sleeps(until) if now >= until => self.ask(number, false)?,
                    Phase::Sleeps(_) => {}
                    Phase::Asked | Phase::Listens | Phase::Releases => {
                        if self.hear(number, comes_again)? {
                            heard = now;
                        }
                    }
                }
                busy = true;
            }
            if !busy {
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
    fn hear(&mut self, number: usize, comes_again: bool) -> Result<bool> {
        let mut reply = [0; 256];
        let member = &mut self.members[number];
        let len = match member.stream.read(&mut reply) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
            Ok(len) => len,
        };
        let reply = &reply[..len];
        match member.phase {
            Phase::Asked if self.manner.is_acquired(reply) => self.enter(number)?,
            Phase::Asked if self.manner.is_refused(reply) => {
                self.members[number].phase = match self.manner.patience() {
                    Patience::Sleep(time) => Phase::Sleeps(Instant::now() + time),
                    Patience::Request(request) => {
                        self.members[number].stream.write_all(&request)?;
                        self.count.commands += 1;
                        Phase::Listens
                    }
                };
            }
            Phase::Listens => self.ask(number, false)?,
            Phase::Releases if reply == b":1\r\n" => {
                self.members[number].phase = Phase::Done;
                if comes_again {
                    self.ask(number, true)?;
                }
            }
            _ => return Err(format!("answered \"{}\"", reply.escape_ascii()).into()),
        }
        Ok(true)
    }

    /// The member has the lock, and releases it at once.
    fn enter(&mut self, number: usize) -> Result<()> {
        let member = &mut self.members[number];
        self.count.in_line.record(member.came.elapsed().as_nanos() as u64)?;
        self.count.acquisitions += 1;
        if self.last_owner != Some(number) {
            self.count.hand_overs += 1;
        }
        self.last_owner = Some(number);
        member.phase = Phase::Releases;
        member.stream.write_all(&member.release)?;
        self.count.commands += 1;
        Ok(())
    }

    pub fn count_anew(&mut self) -> Result<()> {
        self.count = Count::new()?;
        Ok(())
    }
}
