//! Sends the tries from many connections at once and counts the answers.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redis::{RedisResult, Value};
use seckill_tools::connection::{Connection, Target};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch::{Receiver, channel};
use tokio::task::JoinSet;

use crate::answers::Answers;
use crate::batch::{self, One, Tries, gather};
use crate::decisions::{Decision, Decisions};
use crate::managed::{Standing, poll};
use crate::options::{Method, Options};
use crate::pace::{Pace, Shared, hand_out};
use crate::plan::{Plan, user_id};
use crate::progress::{Progress, so_far};
use crate::spread::Spread;

/// A rush that ended: all tries sent were answered.
#[derive(Debug)]
pub struct Rush {
    pub answers: Answers,
    /// Tries sent; fewer than planned when it was stopped.
    pub sent: u32,
    pub elapsed: Duration,
}

/// Makes the command of one try.
pub struct Try {
    spread: Spread,
    vouchers: Vec<String>,
    /// SHA-1 of the script, where a script decides.
    script: Option<String>,
    decisions: Option<Decisions>,
    /// Tries that would be sold out wait in the queue.
    waitlist: bool,
    /// How many tries one command makes.
    batch: u32,
}

impl Try {
    pub async fn prepare(target: &Target, options: &Options) -> Result<Try> {
        let script = match options.method() {
            Method::Command => None,
            Method::Script => {
                let mut load = redis::cmd("SCRIPT");
                load.arg("LOAD").arg(include_str!("seckill.lua"));
                let sha = load.query_async(&mut target.connect().await?).await;
                Some(sha.context("SCRIPT LOAD")?)
            }
        };
        let spread = Spread::of(options);
        let vouchers = spread.vouchers();
        let (decisions, batch) = (Decisions::of(options), options.batch);
        let waitlist = options.managed.waitlist;
        Ok(Try { spread, vouchers, script, decisions, waitlist, batch })
    }

    /// Where a user tries.
    pub fn voucher_of(&self, user: &str) -> &str {
        &self.vouchers[self.spread.shard_of(user)]
    }

    fn command(&self, user: &str, order_id: &str) -> redis::Cmd {
        let mut command = match &self.script {
            None => redis::cmd("SECKILL.TRY"),
            Some(_) => redis::cmd("EVALSHA"),
        };
        if let Some(sha) = &self.script {
            command.arg(sha).arg(0);
        }
        command.arg(self.voucher_of(user)).arg(user).arg(order_id);
        if self.waitlist {
            command.arg("WAITLIST");
        }
        command
    }

    /// The commands of some tries.
    fn commands(&self, plan: &Plan, numbers: Range<u32>) -> Result<Vec<Tries>> {
        let named = numbers.map(|number| {
            let user = plan.user(number).context("a try past the end of the plan")?;
            Ok((number, user_id(user), plan.order_id(number)))
        });
        let named = named.collect::<Result<Vec<_>>>()?;
        Ok(match self.batch {
            1 => {
                let alone = |(number, user, order_id): (u32, String, String)| Tries {
                    command: self.command(&user, &order_id),
                    numbers: vec![number],
                };
                named.into_iter().map(alone).collect()
            }
            size => {
                let one = |(number, user, order_id): (u32, String, String)| {
                    let voucher = self.voucher_of(&user);
                    One { number, voucher, user, order_id }
                };
                gather(named.into_iter().map(one), size as usize)
            }
        })
    }
}

/// Sends the whole plan, or until Ctrl-C, and waits for every answer. An error when a connection
/// is lost: then nobody knows what became of the tries on their way.
pub async fn send(target: &Target, options: &Options, plan: &Arc<Plan>) -> Result<Rush> {
    let shared = Arc::new(Shared::new(plan.tries()));
    let maker = Arc::new(Try::prepare(target, options).await?);
    let mut connections = Vec::new();
    for _ in 0..options.connections {
        connections.push(target.connect().await?);
    }

    let started = Instant::now();
    let mut senders = JoinSet::new();
    let at_once = options.pipeline.saturating_mul(options.batch);
    let pace = options.rate.map(|rate| Pace::new(started, rate));
    let mut handed_out = pace
        .map(|pace| hand_out(pace, Arc::clone(&shared), options.connections, at_once).into_iter());
    for connection in connections {
        let (maker, plan, shared) = (maker.clone(), plan.clone(), shared.clone());
        let sender = Sender { connection, maker, plan, shared };
        match (pace, handed_out.as_mut().and_then(Iterator::next)) {
            (Some(pace), Some(tries)) => senders.spawn(sender.send_in_time(pace, tries)),
            _ => senders.spawn(sender.send_at_once(at_once)),
        };
    }
    let standing = poll_standing(target, options).await?;
    let sent = watch(&mut senders, &shared, &standing, options.json).await;
    drop(standing); // ends the polling
    let elapsed = started.elapsed();

    let answers = shared.answers().clone();
    let answered = answers.answered();
    sent.with_context(|| {
        format!("a connection was lost after {answered} answers, so nothing can be proved")
    })?;
    Ok(Rush { answers, sent: u32::try_from(answered)?, elapsed })
}

/// The state of the sale, asked on a connection of its own. None if it is not managed.
async fn poll_standing(target: &Target, options: &Options) -> Result<Receiver<Option<Standing>>> {
    let (tell, standing) = channel(None);
    if options.managed.managed && !options.json {
        tokio::spawn(poll(target.connect().await?, Spread::of(options).vouchers(), tell));
    }
    Ok(standing)
}

/// One connection.
struct Sender {
    connection: Connection,
    maker: Arc<Try>,
    plan: Arc<Plan>,
    shared: Arc<Shared>,
}

impl Sender {
    /// Takes this many tries at once, until none is left.
    async fn send_at_once(mut self, at_once: u32) -> Result<()> {
        while let Some(taken) = self.shared.take(at_once) {
            let now = Instant::now();
            self.send(taken, |_| now).await?;
        }
        Ok(())
    }

    /// Sends what it is handed.
    async fn send_in_time(
        mut self,
        pace: Pace,
        mut tries: UnboundedReceiver<Range<u32>>,
    ) -> Result<()> {
        while let Some(taken) = tries.recv().await {
            self.send(taken, |number| pace.moment_of(number)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, taken: Range<u32>, begun: impl Fn(u32) -> Instant) -> Result<()> {
        let tries = self.maker.commands(&self.plan, taken)?;
        let (commands, numbers): (Vec<_>, Vec<_>) =
            tries.into_iter().map(|tries| (tries.command, tries.numbers)).unzip();
        let replies: Vec<RedisResult<Value>> = self.connection.ask_all(commands).await?;
        let now = Instant::now();
        let accepted = {
            let mut answers = self.shared.answers();
            let known = answers.accepted.len();
            for (numbers, reply) in numbers.iter().zip(replies) {
                for (number, answer) in batch::answers(numbers, reply) {
                    answers.latencies.add(now.saturating_duration_since(begun(number)));
                    answers.add(number, answer);
                }
            }
            answers.accepted[known..].to_vec()
        };
        let paid = pay_or_cancel(&mut self.connection, &self.maker, &self.plan, &accepted).await?;
        self.shared.answers().add_payments(paid);
        Ok(())
    }
}

/// What was asked about orders, and answered.
pub type Paid = Vec<(Decision, RedisResult<i64>)>;

/// Pays or cancels the accepted tries, as was decided of each; what was answered. A retry of an
/// order pays it again, as its user can't know.
pub async fn pay_or_cancel(
    connection: &mut Connection,
    maker: &Try,
    plan: &Plan,
    accepted: &[u32],
) -> Result<Paid> {
    let Some(decisions) = &maker.decisions else { return Ok(Vec::new()) };
    let (mut commands, mut asked) = (Vec::new(), Vec::new());
    for &number in accepted {
        let (decision, Some(user)) = (decisions.decision(plan.first(number)), plan.user(number))
        else {
            continue;
        };
        let name = match decision {
            Decision::Paid => "SECKILL.CONFIRM",
            Decision::Cancelled => "SECKILL.CANCEL",
            Decision::Left => continue,
        };
        let (mut command, user) = (redis::cmd(name), user_id(user));
        command.arg(maker.voucher_of(&user)).arg(&user).arg(plan.order_id(number));
        commands.push(command);
        asked.push(decision);
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let replies: Vec<RedisResult<i64>> = connection.ask_all(commands).await?;
    Ok(asked.into_iter().zip(replies).collect())
}

/// Shows the progress until every connection is done. The first failure stops the others.
async fn watch(
    senders: &mut JoinSet<Result<()>>,
    shared: &Shared,
    standing: &Receiver<Option<Standing>>,
    quiet: bool,
) -> Result<()> {
    let progress = Progress::new(shared.tries, quiet);
    let mut ticks = tokio::time::interval(progress.every());
    let mut failure = Ok(());
    // Nobody waits to count until it is drawn.
    let answered = || so_far(&shared.answers());
    ticks.tick().await; // the first one comes at once
    loop {
        tokio::select! {
            ended = senders.join_next() => match ended {
                None => break,
                Some(result) => {
                    if let Err(error) = result.map_err(anyhow::Error::from).and_then(|part| part) {
                        shared.stop();
                        failure = failure.and(Err(error));
                    }
                }
            },
            _ = ticks.tick() => progress.show(answered(), *standing.borrow()),
            Ok(()) = tokio::signal::ctrl_c() => shared.stop(),
        }
    }
    progress.finish(answered(), *standing.borrow());
    failure
}
