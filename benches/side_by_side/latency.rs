//! Unpipelined tries from 50 connections: how many per second, and how long each waits.
//!
//! One thread serves all connections and never sleeps: on a machine with two cores, one thread per
//! connection would measure the scheduler.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::Result;
use crate::options::Size;
use crate::stand::{Stand, keys};
use crate::table::{Table, in_rounds, median};
use crate::tries::{FIRST_ORDER, FIRST_USER, GET, Outcome, SCRIPT, TRY, Try, load};
use crate::wire::{Load, SILENCE_MAX, check, connect};

pub const CONNECTIONS: usize = 50;
const VOUCHER: usize = 7;
const NANOS_MAX: u64 = 60_000_000_000;

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let title =
        format!("One try in flight on each of {CONNECTIONS} connections, times in microseconds");
    let mut table = Table::new(title, &[""], &[]);
    for (outcome, contenders) in
        [(Outcome::SoldOut, &[SCRIPT, TRY, GET][..]), (Outcome::Accepted, &[SCRIPT, TRY])]
    {
        one_outcome(&mut table, size, outcome, contenders)?;
    }
    Ok(vec![table])
}

pub fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, NANOS_MAX, 3)?)
}

/// A time of a histogram of nanoseconds, in microseconds.
pub fn micros(times: &Histogram<u64>, quantile: f64) -> f64 {
    times.value_at_quantile(quantile) as f64 / 1e3
}

fn one_outcome(
    table: &mut Table,
    size: &Size,
    outcome: Outcome,
    contenders: &[&'static str],
) -> Result<()> {
    let mut stand = Stand::new(false)?;
    let stock = outcome.stock(size.unpipelined);
    let tries: Vec<Try> = (0..size.unpipelined)
        .map(|n| Try { voucher: VOUCHER, user: FIRST_USER + n, order: FIRST_ORDER + n })
        .collect();
    let spelled = |who: &&str| load(who, outcome, &tries, (1, 1), stock);
    let loads: Vec<Load> = contenders.iter().map(spelled).collect();
    let mut crowd = Crowd::connect(&stand)?;
    let mut waits = contenders.iter().map(|_| histogram()).collect::<Result<Vec<_>>>()?;
    let mut turns = 0;
    let rates = in_rounds(size.rounds, contenders.len(), |place| {
        let [stock_key, buyers, orders] = keys(VOUCHER);
        let () = stand.run(&["DEL", &buyers, &orders])?;
        let () = stand.run(&["SET", &stock_key, &stock.to_string()])?;
        let (rate, turn) = crowd.rush(&loads[place])?;
        // The first round is the warm-up.
        if turns >= contenders.len() {
            waits[place].add(turn)?;
        }
        turns += 1;
        Ok(rate)
    })?;
    for ((who, rates), waits) in contenders.iter().zip(rates).zip(&waits) {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| micros(waits, quantile));
        let costs =
            vec![("tries per second", median(&rates)), ("p50", p50), ("p99", p99), ("p99.9", p999)];
        table.push(format!("{}, {who}", outcome.label()), costs);
    }
    Ok(())
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
        let mut waits = histogram()?;
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
        let Some(got) = read_some(&mut self.stream)? else { return Ok(None) };
        self.reply.extend_from_slice(&got);
        let (_, wanted) = load.batch(index);
        if self.reply.len() < wanted.len() {
            return Ok(None);
        }
        check(&self.reply, wanted)?;
        self.asked = None;
        Ok(Some(sent.elapsed()))
    }
}

/// What has come on a connection that doesn't block; none if nothing has.
pub fn read_some(stream: &mut UnixStream) -> Result<Option<Vec<u8>>> {
    let mut some = [0; 256];
    match stream.read(&mut some) {
        Ok(0) => Err("the server closed a connection".into()),
        Ok(got) => Ok(Some(some[..got].to_vec())),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error.into()),
    }
}
