//! Holders that die: how long until the next client in line has a lock that was acquired with
//! SESSION, after the holder's connection is closed, as the system does for a killed process.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Result;
use crate::lock_manner::LEASE_MS;
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::target::Target;
use crate::wire::{connect, request};

pub const CONTENDERS: usize = 64;
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Milliseconds from the close of the holder's connection to the reply to the next holder.
#[derive(Serialize)]
pub struct Killed {
    pub kills: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub longest_ms: f64,
}

impl Killed {
    pub fn target(&self) -> Option<Target> {
        let what = "64 contenders: p99 from a holder's end to the next holder, in ms, at most";
        Target::at_most(what, 10.0, Some(self.p99_ms))
    }
}

pub fn measure(lab: &Lab, size: Size) -> Result<Killed> {
    let mut stand = lab.stand(false)?;
    let mut took = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
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
    let ms = |nanos: u64| nanos as f64 / 1e6;
    Ok(Killed {
        kills: took.len(),
        p50_ms: ms(took.value_at_quantile(0.5)),
        p99_ms: ms(took.value_at_quantile(0.99)),
        longest_ms: ms(took.max()),
    })
}

/// All contenders ask for the lock, each on its own connection: one has it, and the others wait.
fn line_up(stand: &mut Stand, lock: &str) -> Result<Vec<UnixStream>> {
    let mut line = Vec::new();
    for number in 0..CONTENDERS {
        let mut stream = connect(&stand.socket)?;
        let token = format!("7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:{number}");
        let wait: [&[u8]; 3] = [b"BLOCK", b"3600000", b"SESSION"];
        let ask: [&[u8]; 4] = [b"LOCK.ACQUIRE", lock.as_bytes(), token.as_bytes(), LEASE_MS];
        stream.write_all(&request(&[&ask[..], &wait].concat()))?;
        stream.set_nonblocking(true)?;
        line.push(stream);
    }
    let waiting = format!("seckill_locks_waiting:{}", CONTENDERS - 1);
    let start = Instant::now();
    while !stand.run::<String>(&["INFO", "seckill"])?.lines().any(|line| line.trim_end() == waiting)
    {
        if start.elapsed() > SILENCE_MAX {
            return Err("the contenders are not in line".into());
        }
    }
    Ok(line)
}

/// Removes the client that is answered that it has the lock from the line.
fn next_holder(line: &mut Vec<UnixStream>) -> Result<UnixStream> {
    let start = Instant::now();
    while start.elapsed() < SILENCE_MAX {
        for place in 0..line.len() {
            let mut reply = [0; 64];
            match line[place].read(&mut reply) {
                Ok(len) if reply[..len] == *b":1\r\n" => return Ok(line.swap_remove(place)),
                Ok(len) => return Err(reply[..len].escape_ascii().to_string().into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Err("nobody got the lock of a holder who is gone".into())
}
