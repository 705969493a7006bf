//! Beside the tries: pays or cancels the orders that are promoted from the queue, as those that
//! were accepted at once. After the tries: waits until no order is held any more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use seckill_tools::connection::{Connection, Target};
use seckill_tools::voucher_keys::VoucherKeys;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::load::{Paid, Try, pay_or_cancel};
use crate::managed::Standing;
use crate::options::Options;
use crate::plan::Plan;
use crate::sale::{self, State};
use crate::shards::Shards;

/// How often a sale is asked for its state, and its stream for orders.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// How late, at most, a hold may be released.
const EXPIRY_LATE_MAX: Duration = Duration::from_secs(30);

/// Those who are promoted, and what they were answered to their payments.
pub struct QueuePayments {
    paying: JoinHandle<Result<Paid>>,
    stop: watch::Sender<()>,
}

impl QueuePayments {
    /// Serves the queue of this run, if it has one, until `stop`.
    pub async fn start(
        target: &Target,
        options: &Options,
        plan: &Arc<Plan>,
        shards: &[VoucherKeys],
        before: &[State],
    ) -> Result<Option<QueuePayments>> {
        let [(names, before)] = shards.iter().zip(before).collect::<Vec<_>>()[..] else {
            return Ok(None);
        };
        let Some(stream) = names.stream.clone().filter(|_| options.managed.waitlist) else {
            return Ok(None);
        };
        let mut promoted = Promoted {
            link: target.connect().await?,
            maker: Try::of(options, &Shards(vec![options.voucher.clone()])),
            plan: Arc::clone(plan),
            names: names.clone(),
            stream,
            last_entry: before.last_entry.clone(),
        };
        let (stop, mut stopped) = watch::channel(());
        let paying = tokio::spawn(async move {
            let mut paid = Vec::new();
            let mut ticks = tokio::time::interval(POLL_EVERY);
            loop {
                tokio::select! {
                    _ = ticks.tick() => paid.extend(promoted.pay().await?),
                    _ = stopped.changed() => return Ok(paid),
                }
            }
        });
        Ok(Some(QueuePayments { paying, stop }))
    }

    pub async fn stop(self) -> Result<Paid> {
        drop(self.stop);
        self.paying.await?.context("paying for orders from the queue")
    }
}

/// Orders that are promoted from the queue, as the stream tells of them.
struct Promoted {
    link: Connection,
    maker: Try,
    plan: Arc<Plan>,
    names: VoucherKeys,
    stream: String,
    /// The last entry that was read.
    last_entry: String,
}

impl Promoted {
    /// Pays or cancels what was promoted since the last call.
    async fn pay(&mut self) -> Result<Paid> {
        let vouchers = HashSet::from([self.names.voucher.as_str()]);
        let (mut orders, last) = (Vec::new(), &mut self.last_entry);
        let link = &mut self.link;
        sale::read_orders(link, &self.names, &self.stream, last, &vouchers, &mut orders).await?;
        let promoted = orders.into_iter().filter(|order| order.waited);
        let tries: Vec<u32> =
            promoted.filter_map(|order| self.plan.number(&order.order_id)).collect();
        pay_or_cancel(link, &self.maker, &self.plan, &tries).await
    }
}

/// Waits until the server has released every hold. False when holds are left: Ctrl-C ended the
/// wait, or the server does not release them.
pub async fn wait_for_holds(
    connection: &Connection,
    shards: &[VoucherKeys],
    quiet: bool,
) -> Result<bool> {
    let mut standing = Standing::ask(connection, shards).await?;
    let Some(hold_ms) = standing.hold_ms.filter(|_| standing.held > 0) else { return Ok(true) };
    if !quiet {
        eprintln!("{} units held: waiting up to {hold_ms} ms for them to expire", standing.held);
    }
    let patience = Duration::from_millis(hold_ms.unsigned_abs()) + EXPIRY_LATE_MAX;
    let mut end = Instant::now() + patience;
    let mut ticks = tokio::time::interval(POLL_EVERY);
    while standing.held > 0 && Instant::now() < end {
        tokio::select! {
            _ = ticks.tick() => {}
            Ok(()) = tokio::signal::ctrl_c() => return Ok(false),
        }
        let now = Standing::ask(connection, shards).await?;
        // Those who are promoted have their holds from now on.
        if now.waiting < standing.waiting {
            end = Instant::now() + patience;
            if !quiet {
                eprintln!("{} sold, {} held, {} in the queue", now.sold, now.held, now.waiting);
            }
        }
        standing = now;
    }
    Ok(standing.held == 0)
}
