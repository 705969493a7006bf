//! Unpipelined tries from 50 connections: how many per second, and how long each waits.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use seckill_tools::latency::Latencies;

use crate::Result;
use crate::options::Size;
use crate::stand::Stand;
use crate::table::{Table, in_rounds, median};
use crate::tries::{GET, Outcome, SCRIPT, TRY, load};
use crate::wire::{Load, Turn, check, crowd, read_some, take_turns};

const CONNECTIONS: usize = 50;

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let title =
        format!("One try in flight on each of {CONNECTIONS} connections, times in microseconds");
    let mut table = Table::new(title, "", &[]);
    for (outcome, contenders) in
        [(Outcome::SoldOut, &[SCRIPT, TRY, GET][..]), (Outcome::Accepted, &[SCRIPT, TRY])]
    {
        one_outcome(&mut table, size, outcome, contenders)?;
    }
    Ok(vec![table])
}

fn one_outcome(
    table: &mut Table,
    size: &Size,
    outcome: Outcome,
    contenders: &[&'static str],
) -> Result<()> {
    let mut stand = Stand::new(false)?;
    let tries = size.unpipelined;
    let loads: Vec<Load> = contenders.iter().map(|who| load(who, outcome, tries, (1, 1))).collect();
    let mut streams = crowd(&stand.socket, CONNECTIONS)?;
    let mut waits = vec![Latencies::default(); contenders.len()];
    let mut turns = 0;
    let rates = in_rounds(size.rounds, contenders.len(), |place| {
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

/// Sends the whole load, with one command in flight per connection, and returns the commands per
/// second and the time that each reply took.
fn rush(streams: &mut [UnixStream], load: &Load) -> Result<(f64, Latencies)> {
    let mut waits = Latencies::default();
    // Of each connection the command in flight, when it was sent, and what has come of its reply.
    let mut asked: Vec<Option<(usize, Instant, Vec<u8>)>> = vec![None; streams.len()];
    let mut next = 0;
    let start = Instant::now();
    take_turns(streams.len(), |number| {
        let stream = &mut streams[number];
        let mut is_answered = false;
        if let Some((index, sent, reply)) = &mut asked[number] {
            let Some(got) = read_some(stream)? else { return Ok(Turn::Waits) };
            reply.extend_from_slice(&got);
            let (_, wanted) = load.batch(*index);
            if reply.len() < wanted.len() {
                return Ok(Turn::Waits);
            }
            check(reply, wanted)?;
            waits.add(sent.elapsed());
            (asked[number], is_answered) = (None, true);
        }
        if next == load.batches() {
            return Ok(if is_answered { Turn::Heard } else { Turn::Done });
        }
        asked[number] = Some((next, Instant::now(), Vec::new()));
        stream.write_all(load.batch(next).0)?;
        next += 1;
        Ok(Turn::Heard)
    })?;
    Ok((load.commands() as f64 / start.elapsed().as_secs_f64(), waits))
}
