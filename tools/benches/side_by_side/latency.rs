//! Unpipelined tries from 50 connections: how many per second, and how long each waits.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use seckill_tools::latency::Latencies;

use crate::Result;
use crate::options::Options;
use crate::stand::Stand;
use crate::table::{Table, in_rounds, median};
use crate::tries::{GET, Outcome, SCRIPT, TRY, load};
use crate::wire::{Load, SILENCE_MAX, check, connect};

const CONNECTIONS: usize = 50;

pub fn measure(options: &Options) -> Result<Vec<Table>> {
    let title =
        format!("One try in flight on each of {CONNECTIONS} connections, times in microseconds");
    let mut table = Table::new(title, "", &[]);
    for (outcome, contenders) in
        [(Outcome::SoldOut, &[SCRIPT, TRY, GET][..]), (Outcome::Accepted, &[SCRIPT, TRY])]
    {
        one_outcome(&mut table, options, outcome, contenders)?;
    }
    Ok(vec![table])
}

fn one_outcome(
    table: &mut Table,
    options: &Options,
    outcome: Outcome,
    contenders: &[&'static str],
) -> Result<()> {
    let mut stand = Stand::new(false)?;
    let tries = options.of(60_000, 2_000);
    let loads: Vec<Load> = contenders.iter().map(|who| load(who, outcome, tries, (1, 1))).collect();
    let mut streams = crowd(&stand.socket)?;
    let mut waits = vec![Latencies::default(); contenders.len()];
    let mut turns = 0;
    let rates = in_rounds(options.rounds(), contenders.len(), |place| {
        outcome.open(&mut stand, tries)?;
        let (rate, turn) = rush(&mut streams, &loads[place])?;
        // The first round is the warm-up.
        if turns >= contenders.len() {
            waits[place].merge(&turn);
        }
        turns += 1;
        Ok(rate)
    })?;
    for ((who, rates), waits) in contenders.iter().zip(rates).zip(&waits) {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| waits.ms(quantile) * 1e3);
        let rate = ("tries per second", median(rates));
        let costs = vec![rate, ("p50", p50), ("p99", p99), ("p99.9", p999)];
        table.push(format!("{}, {who}", outcome.label()), costs);
    }
    Ok(())
}

/// Connections that don't block: one thread serves all of them and never sleeps, for on a machine
/// with two cores one thread per connection would measure the scheduler.
fn crowd(socket: &Path) -> Result<Vec<UnixStream>> {
    let member = |_| {
        let stream = connect(socket)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    (0..CONNECTIONS).map(member).collect()
}

/// Sends the whole load, with one command in flight per connection, and returns the commands per
/// second and the time that each reply took.
fn rush(streams: &mut [UnixStream], load: &Load) -> Result<(f64, Latencies)> {
    let mut waits = Latencies::default();
    // Of each connection the command in flight, when it was sent, and what has come of its reply.
    let mut asked: Vec<Option<(usize, Instant, Vec<u8>)>> = vec![None; streams.len()];
    let (mut next, mut answered, mut some) = (0, 0, [0; 256]);
    let start = Instant::now();
    let mut heard = start;
    while answered < load.batches.len() {
        for (stream, asked) in streams.iter_mut().zip(&mut asked) {
            if let Some((index, sent, reply)) = asked {
                match stream.read(&mut some) {
                    Ok(0) => return Err("the server closed a connection".into()),
                    Ok(got) => reply.extend_from_slice(&some[..got]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(error) => return Err(error.into()),
                }
                let (_, wanted) = &load.batches[*index];
                if reply.len() < wanted.len() {
                    continue;
                }
                check(reply, wanted)?;
                waits.add(sent.elapsed());
                (*asked, answered, heard) = (None, answered + 1, Instant::now());
            }
            if next < load.batches.len() {
                *asked = Some((next, Instant::now(), Vec::new()));
                stream.write_all(&load.batches[next].0)?;
                next += 1;
            }
        }
        if heard.elapsed() > SILENCE_MAX {
            return Err("the server stopped answering".into());
        }
    }
    Ok((load.commands as f64 / start.elapsed().as_secs_f64(), waits))
}
