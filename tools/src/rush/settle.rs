//! After the tries: waits until no order is held any more. Orders that are served from the line
//! meanwhile are paid or cancelled, as those that were accepted at once.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::voucher_keys::VoucherKeys;
use tokio::time::Instant;

use crate::answers::Answers;
use crate::load::{Try, pay_or_cancel};
use crate::managed::{POLL_EVERY, Standing};
use crate::options::Options;
use crate::plan::Plan;
use crate::sale::{self, State};

/// How late, at most, a hold may be released.
const EXPIRY_LATE_MAX: Duration = Duration::from_secs(30);

/// Orders that are served from the line, as the stream tells of them.
struct Served<'a> {
    names: &'a VoucherKeys,
    stream: &'a str,
    /// The last entry that was read.
    last_entry: String,
}

impl Served<'_> {
    /// The tries of this plan whose orders were served since the last call.
    async fn next(&mut self, link: &mut Connection, plan: &Plan) -> Result<Vec<u32>> {
        let vouchers = HashSet::from([self.names.voucher.as_str()]);
        let mut orders = Vec::new();
        let last = &mut self.last_entry;
        sale::read_orders(link, self.names, self.stream, last, &vouchers, &mut orders).await?;
        let served = orders.into_iter().filter(|order| order.waited);
        Ok(served.filter_map(|order| plan.number(&order.order_id)).collect())
    }
}

/// False when holds are left: Ctrl-C ended the wait, or the server does not release them.
pub async fn settle(
    target: &Target,
    options: &Options,
    plan: &Plan,
    (shards, before): (&[VoucherKeys], &[State]),
    answers: &mut Answers,
) -> Result<bool> {
    let mut link = target.connect().await?;
    let maker = Try::prepare(target, options).await?;
    let mut standing = Standing::ask(&link, maker.vouchers()).await?;
    let Some(hold_ms) = standing.hold_ms.filter(|_| standing.held > 0) else { return Ok(true) };
    if !options.json {
        eprintln!("{} units held: waiting up to {hold_ms} ms for them to expire", standing.held);
    }
    let names = shards.iter().zip(before).next().filter(|_| options.managed.waitlist);
    let mut line = names.and_then(|(names, before)| {
        let stream = names.stream.as_deref()?;
        Some(Served { names, stream, last_entry: before.last_entry.clone() })
    });
    let patience = Duration::from_millis(hold_ms.unsigned_abs()) + EXPIRY_LATE_MAX;
    let mut end = Instant::now() + patience;
    let mut ticks = tokio::time::interval(POLL_EVERY);
    while standing.held > 0 && Instant::now() < end {
        tokio::select! {
            _ = ticks.tick() => {}
            Ok(()) = tokio::signal::ctrl_c() => return Ok(false),
        }
        if let Some(line) = &mut line {
            let served = line.next(&mut link, plan).await?;
            if !served.is_empty() {
                // Their holds have just begun.
                end = Instant::now() + patience;
            }
            pay_or_cancel(&mut link, &maker, plan, &served, answers).await?;
        }
        let now = Standing::ask(&link, maker.vouchers()).await?;
        if line.is_some() && !options.json && now != standing {
            eprintln!("{} sold, {} held, {} in line", now.sold, now.held, now.waiting);
        }
        standing = now;
    }
    Ok(standing.held == 0)
}
