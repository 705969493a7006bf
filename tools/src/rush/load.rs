//! Sends the tries from many connections at once and counts the answers.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use domain::sale::TryOutcome;
use redis::RedisResult;
use seckill_tools::connection::{Connection, Target};
use tokio::task::JoinSet;

use crate::answers::Answers;
use crate::decisions::{Decision, Decisions};
use crate::options::Options;
use crate::pace::Shared;
use crate::plan::{Plan, user_id};
use crate::shards::Shards;

/// How often a line says how far it is.
const SAY_EVERY: Duration = Duration::from_secs(2);

/// A rush that ended: all tries sent were answered.
#[derive(Debug)]
pub struct Rush {
    pub answers: Answers,
    /// Tries sent; fewer than planned when it was stopped.
    pub sent: u32,
    pub elapsed: Duration,
}

/// Makes the commands of a try.
pub struct Try {
    shards: Shards,
    decisions: Option<Decisions>,
    /// Tries that would be sold out wait in the queue.
    waitlist: bool,
}

impl Try {
    pub fn of(options: &Options, shards: &Shards) -> Try {
        let decisions = Decisions::of(options);
        Try { shards: shards.clone(), decisions, waitlist: options.managed.waitlist }
    }

    /// A command about the order of a try.
    fn command(&self, name: &str, plan: &Plan, number: u32) -> Result<redis::Cmd> {
        let user = user_id(plan.user(number).context("a try past the end of the plan")?);
        let mut command = redis::cmd(name);
        command.arg(self.shards.voucher_of(&user)).arg(&user).arg(plan.order_id(number));
        Ok(command)
    }
}

/// Sends the whole plan, or until Ctrl-C, and waits for every answer. An error when a connection
/// is lost: then nobody knows what became of the tries on their way.
pub async fn send(
    target: &Target,
    options: &Options,
    plan: &Arc<Plan>,
    shards: &Shards,
) -> Result<Rush> {
    let maker = Arc::new(Try::of(options, shards));
    let mut connections = Vec::new();
    for _ in 0..options.connections {
        connections.push(target.connect().await?);
    }

    let started = Instant::now();
    let shared = Shared::start(plan.tries(), options.rate);
    let mut senders = JoinSet::new();
    for connection in connections {
        let (maker, plan, shared) = (maker.clone(), plan.clone(), shared.clone());
        senders.spawn(Sender { connection, maker, plan, shared }.run(options.pipeline));
    }
    let sent = watch(&mut senders, &shared, options.json).await;
    let elapsed = started.elapsed();

    let answers = shared.answers().clone();
    let answered = answers.answered();
    sent.with_context(|| {
        format!("a connection was lost after {answered} answers, so nothing can be compared")
    })?;
    Ok(Rush { answers, sent: u32::try_from(answered)?, elapsed })
}

/// One connection.
struct Sender {
    connection: Connection,
    maker: Arc<Try>,
    plan: Arc<Plan>,
    shared: Arc<Shared>,
}

impl Sender {
    /// Takes up to so many tries at once, until none is left.
    async fn run(mut self, at_once: u32) -> Result<()> {
        while let Some(taken) = self.shared.take(at_once).await {
            self.send(taken).await?;
        }
        Ok(())
    }

    async fn send(&mut self, taken: Range<u32>) -> Result<()> {
        let sent = Instant::now();
        let commands = taken.clone().map(|number| {
            let mut command = self.maker.command("SECKILL.TRY", &self.plan, number)?;
            if self.maker.waitlist {
                command.arg("WAITLIST");
            }
            Ok(command)
        });
        let commands = commands.collect::<Result<_>>()?;
        let replies: Vec<RedisResult<i64>> = self.connection.ask_all(commands).await?;
        let now = Instant::now();
        let accepted = {
            let mut answers = self.shared.answers();
            let known = answers.accepted.len();
            for (number, reply) in taken.zip(replies) {
                answers
                    .latencies
                    .add(now.saturating_duration_since(self.shared.begun(number, sent)));
                answers.add(number, reply);
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

/// Pays or cancels the accepted tries, as was decided of each; what was answered.
pub async fn pay_or_cancel(
    connection: &mut Connection,
    maker: &Try,
    plan: &Plan,
    accepted: &[u32],
) -> Result<Paid> {
    let Some(decisions) = &maker.decisions else { return Ok(Vec::new()) };
    let (mut commands, mut asked) = (Vec::new(), Vec::new());
    for &number in accepted {
        let decision = decisions.decision(number);
        let name = match decision {
            Decision::Paid => "SECKILL.CONFIRM",
            Decision::Cancelled => "SECKILL.CANCEL",
            Decision::Left => continue,
        };
        commands.push(maker.command(name, plan, number)?);
        asked.push(decision);
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let replies: Vec<RedisResult<i64>> = connection.ask_all(commands).await?;
    Ok(asked.into_iter().zip(replies).collect())
}

/// Waits until every connection is done, and says how far it is unless `quiet`. The first failure
/// stops the others.
async fn watch(senders: &mut JoinSet<Result<()>>, shared: &Shared, quiet: bool) -> Result<()> {
    let mut ticks = tokio::time::interval(SAY_EVERY);
    let mut failure = Ok(());
    ticks.tick().await; // the first one comes at once
    loop {
        tokio::select! {
            ended = senders.join_next() => match ended {
                None => return failure,
                Some(result) => {
                    if let Err(error) = result.map_err(anyhow::Error::from).and_then(|part| part) {
                        shared.stop();
                        failure = failure.and(Err(error));
                    }
                }
            },
            _ = ticks.tick(), if !quiet => {
                let (answered, accepted) = {
                    let answers = shared.answers();
                    (answers.answered(), answers.outcomes[TryOutcome::Accepted as usize])
                };
                eprintln!("{answered} of {} tries answered, {accepted} accepted", shared.tries);
            }
            Ok(()) = tokio::signal::ctrl_c() => shared.stop(),
        }
    }
}
