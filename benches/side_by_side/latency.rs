//! Unpipelined tries from 50 connections: how many per second, and how long each waits.
//!
//! One thread serves all connections and never sleeps: on a machine with two cores, one thread per
//! connection would measure the scheduler.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Outcome, SELLING, Try};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::{Load, check, connect};

pub const CONNECTIONS: usize = 50;

const VOUCHER: usize = 7;
const FIRST_USER: usize = 1_000_001;
const FIRST_ORDER: usize = 314_159_265_358_979_001;
const WITH_GET: &[Contender] =
    &[Contender::Script, Contender::RmCall, Contender::Seckill, Contender::Get];
const LATENCY_NANOS_MAX: u64 = 60_000_000_000;
const SILENCE_MAX: Duration = Duration::from_secs(30);

#[derive(Serialize)]
pub struct Latency {
    pub outcome: Outcome,
    pub contender: Contender,
    /// The median of the rounds.
    pub commands_per_second: f64,
    /// Over the tries of all rounds, in microseconds.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Latency>> {
    let mut all = one_outcome(lab, size, Outcome::SoldOut, WITH_GET)?;
    all.extend(one_outcome(lab, size, Outcome::Accepted, SELLING)?);
    Ok(all)
}

fn one_outcome(
    lab: &Lab,
    size: Size,
    outcome: Outcome,
    contenders: &[Contender],
) -> Result<Vec<Latency>> {
    let mut stand = lab.stand(false)?;
    let stock = outcome.stock(size.unpipelined_each);
    let mut crowd = Crowd::connect(&stand)?;
    let loads: Vec<Load> = contenders
        .iter()
        .map(|c| {
            let tries = (0..size.unpipelined_each).map(|n| Try {
                voucher: VOUCHER,
                user: FIRST_USER + n,
                order_id: FIRST_ORDER + n,
            });
            c.load(&stand, outcome, 1, tries, stock)
        })
        .collect();
    let mut turns: Vec<Vec<Histogram<u64>>> = contenders.iter().map(|_| Vec::new()).collect();
    let rates = in_rounds(size.rounds, contenders, |place| {
        let () = stand.run(&["DEL", &format!("seckill:order:{VOUCHER}"), "stream.orders"])?;
        let () = stand.run(&["SET", &format!("seckill:stock:{VOUCHER}"), &stock.to_string()])?;
        let (rate, waits) = crowd.rush(&loads[place])?;
        turns[place].push(waits);
        Ok(rate)
    })?;
    rates.iter().zip(&turns).map(|(rate, waits)| row(outcome, rate, waits)).collect()
}

fn row(outcome: Outcome, rate: &Figure, turns: &[Histogram<u64>]) -> Result<Latency> {
    let mut waits = new_histogram()?;
    // The first turn was the warm-up.
    for turn in &turns[1..] {
        waits.add(turn)?;
    }
    let micros = |quantile: f64| waits.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Latency {
        outcome,
        contender: rate.contender,
        commands_per_second: rate.median.round(),
        p50: micros(0.5),
        p99: micros(0.99),
        p999: micros(0.999),
    })
}

fn new_histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, LATENCY_NANOS_MAX, 3)?)
}

struct Crowd {
    members: Vec<Member>,
}

struct Member {
    stream: UnixStream,
    /// The try in flight, and when it was sent.
    asked: Option<(usize, Instant)>,
    reply: Vec<u8>,
}

impl Crowd {
    fn connect(stand: &Stand) -> Result<Self> {
        let mut members = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = connect(&stand.socket)?;
            stream.set_nonblocking(true)?;
            members.push(Member { stream, asked: None, reply: Vec::new() });
        }
        Ok(Self { members })
    }

    /// Sends the whole load, with one command in flight per connection, and returns the commands
    /// per second and the nanoseconds that each reply took.
    fn rush(&mut self, load: &Load) -> Result<(f64, Histogram<u64>)> {
        let mut waits = new_histogram()?;
        let start = Instant::now();
        let mut next = 0;
        let mut open = 0;
        for member in &mut self.members {
            open += usize::from(member.ask(load, &mut next)?);
        }
        let mut last_reply = start;
        while open > 0 {
            for member in &mut self.members {
                let Some(wait) = member.look(load)? else { continue };
                waits.record(wait.as_nanos() as u64)?;
                last_reply = Instant::now();
                open -= usize::from(!member.ask(load, &mut next)?);
            }
            if last_reply.elapsed() > SILENCE_MAX {
                return Err("the server stopped answering".into());
            }
        }
        Ok((load.commands() as f64 / start.elapsed().as_secs_f64(), waits))
    }
}

impl Member {
    /// Sends the next command, if there is one left.
    fn ask(&mut self, load: &Load, next: &mut usize) -> Result<bool> {
        if *next == load.batches() {
            return Ok(false);
        }
        self.asked = Some((*next, Instant::now()));
        self.stream.write_all(load.batch(*next).0)?;
        self.reply.clear();
        *next += 1;
        Ok(true)
    }

    /// How long the command in flight took, once its whole reply is there.
    fn look(&mut self, load: &Load) -> Result<Option<Duration>> {
        let Some((index, sent)) = self.asked else { return Ok(None) };
        let mut some = [0; 64];
        let got = match self.stream.read(&mut some) {
            Ok(0) => return Err("the server closed a connection".into()),
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.reply.extend_from_slice(&some[..got]);
        let (_, wanted) = load.batch(index);
        if self.reply.len() < wanted.len() {
            return Ok(None);
        }
        check(&self.reply, wanted)?;
        self.asked = None;
        Ok(Some(sent.elapsed()))
    }
}
