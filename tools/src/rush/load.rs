//! Sends the tries from many connections at once and counts the answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use domain::sale::Outcome;
use redis::{RedisResult, Value};
use seckill_tools::connection::{Connection, Target};
use serde::Serialize;
use tokio::sync::watch::{Receiver, channel};
use tokio::task::JoinSet;

use crate::batch::{self, One, Tries, gather};
use crate::fate::{Fates, Settled, settle};
use crate::managed::{Standing, poll};
use crate::options::{Method, Options};
use crate::plan::{Plan, user_id};
use crate::progress::{Progress, Tally};
use crate::spread::Spread;

/// What the server answered to the tries sent.
#[derive(Debug, Default)]
pub struct Answers {
    /// How often each outcome was replied, in the order of `Outcome::ALL`.
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Numbers of the accepted tries, in no order.
    pub accepted: Vec<u32>,
    /// Errors by code word.
    pub errors: BTreeMap<String, Errors>,
    /// What became of accepted orders.
    pub settled: Settled,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Errors {
    pub count: u64,
    /// The first one's text.
    pub first: String,
}

impl Answers {
    fn add(&mut self, number: u32, answer: RedisResult<i64>) {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(error) => return self.add_redis_error(&error),
        };
        let Some(outcome) = Outcome::of_code(outcome) else {
            return self.add_error("UNKNOWN".to_owned(), format!("the outcome {outcome}"));
        };
        self.outcomes[outcome as usize] += 1;
        if outcome == Outcome::Accepted {
            self.accepted.push(number);
        }
    }

    pub fn add_redis_error(&mut self, error: &redis::RedisError) {
        let code = error.code().unwrap_or("ERR").to_owned();
        let text = error.detail().map_or_else(|| error.to_string(), str::to_owned);
        self.add_error(code, text);
    }

    pub fn add_error(&mut self, code: String, text: String) {
        let errors = self.errors.entry(code).or_default();
        if errors.count == 0 {
            errors.first = text;
        }
        errors.count += 1;
    }

    fn merge(&mut self, other: Answers) {
        for (sum, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += count;
        }
        self.accepted.extend(other.accepted);
        self.settled.merge(&other.settled);
        for (code, errors) in other.errors {
            let sum = self.errors.entry(code).or_default();
            if sum.count == 0 {
                sum.first = errors.first;
            }
            sum.count += errors.count;
        }
    }

    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|errors| errors.count).sum()
    }
}

/// A rush that ended: all tries sent were answered.
#[derive(Debug)]
pub struct Rush {
    pub answers: Answers,
    /// Tries sent; fewer than planned when it was stopped.
    pub sent: u32,
    pub elapsed: Duration,
}

/// What all connections share while they send.
struct Shared {
    next: AtomicU32,
    tries: u32,
    stopped: AtomicBool,
    tally: Tally,
}

impl Shared {
    fn new(tries: u32) -> Shared {
        Shared {
            next: AtomicU32::new(0),
            tries,
            stopped: AtomicBool::new(false),
            tally: Tally::default(),
        }
    }

    /// The numbers of the next tries, up to `count`; None when all are taken or it was stopped.
    fn take(&self, count: u32) -> Option<Range<u32>> {
        if self.stopped.load(Relaxed) {
            return None;
        }
        let end = |from: u32| self.tries.min(from.saturating_add(count));
        let next = |from: u32| (from < self.tries).then(|| end(from));
        let from = self.next.fetch_update(Relaxed, Relaxed, next).ok()?;
        Some(from..end(from))
    }
}

/// Makes the command of one try.
pub struct Try {
    spread: Spread,
    vouchers: Vec<String>,
    /// SHA-1 of the script, where a script decides.
    script: Option<String>,
    fates: Option<Fates>,
    /// How many tries one command makes.
    batch: u32,
}

impl Try {
    async fn prepare(target: &Target, options: &Options) -> Result<Try> {
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
        let (fates, batch) = (Fates::of(options), options.batch);
        Ok(Try { spread, vouchers, script, fates, batch })
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
    for connection in connections {
        let (maker, plan, shared) = (maker.clone(), plan.clone(), shared.clone());
        let at_once = options.pipeline.saturating_mul(options.batch);
        senders.spawn(work(connection, at_once, maker, plan, shared));
    }
    let standing = poll_standing(target, options).await?;
    let answers = watch(&mut senders, &shared, &standing, options.json).await;
    drop(standing); // ends the polling
    let elapsed = started.elapsed();

    let answered = shared.tally.answered();
    let answers = answers.with_context(|| {
        format!("a connection was lost after {answered} answers, so nothing can be proved")
    })?;
    Ok(Rush { answers, sent: answered, elapsed })
}

/// How the sale stands, asked on a connection of its own. Always none where it is not managed.
async fn poll_standing(target: &Target, options: &Options) -> Result<Receiver<Option<Standing>>> {
    let (tell, standing) = channel(None);
    if options.managed.managed && !options.json {
        tokio::spawn(poll(target.connect().await?, Spread::of(options).vouchers(), tell));
    }
    Ok(standing)
}

/// One connection: takes so many tries at once, until none is left.
async fn work(
    mut connection: Connection,
    at_once: u32,
    maker: Arc<Try>,
    plan: Arc<Plan>,
    shared: Arc<Shared>,
) -> Result<Answers> {
    let mut answers = Answers::default();
    while let Some(taken) = shared.take(at_once) {
        let tries = maker.commands(&plan, taken)?;
        let (commands, numbers): (Vec<_>, Vec<_>) =
            tries.into_iter().map(|tries| (tries.command, tries.numbers)).unzip();
        let replies: Vec<RedisResult<Value>> = connection.ask_all(commands).await?;
        let known = answers.accepted.len();
        for (numbers, reply) in numbers.iter().zip(replies) {
            for (number, answer) in batch::answers(numbers, reply) {
                shared.tally.count(&answer);
                answers.add(number, answer);
            }
        }
        if let Some(fates) = &maker.fates {
            let accepted = answers.accepted[known..].to_vec();
            settle(&mut connection, &maker, fates, &plan, &accepted, &mut answers).await?;
        }
    }
    Ok(answers)
}

/// Shows the progress until every connection is done. The first failure stops the others.
async fn watch(
    senders: &mut JoinSet<Result<Answers>>,
    shared: &Shared,
    standing: &Receiver<Option<Standing>>,
    quiet: bool,
) -> Result<Answers> {
    let progress = Progress::new(shared.tries, quiet);
    let mut ticks = tokio::time::interval(progress.every());
    let mut answers = Answers::default();
    let mut failure = None;
    ticks.tick().await; // the first one comes at once
    loop {
        tokio::select! {
            ended = senders.join_next() => match ended {
                None => break,
                Some(result) => match result.map_err(anyhow::Error::from).and_then(|part| part) {
                    Ok(part) => answers.merge(part),
                    Err(error) => {
                        shared.stopped.store(true, Relaxed);
                        failure.get_or_insert(error);
                    }
                },
            },
            _ = ticks.tick() => progress.show(&shared.tally, *standing.borrow()),
            Ok(()) = tokio::signal::ctrl_c() => shared.stopped.store(true, Relaxed),
        }
    }
    progress.finish(&shared.tally, *standing.borrow());
    match failure {
        Some(error) => Err(error),
        None => Ok(answers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, text: &str) -> RedisResult<i64> {
        let reply = redis::parse_redis_value(format!("-{code} {text}\r\n").as_bytes());
        redis::from_redis_value::<RedisResult<i64>>(reply?)?
    }

    #[test]
    fn outcomes_are_counted_by_their_number() {
        let mut answers = Answers::default();
        for (number, outcome) in [0, 1, 1, 2, 0].into_iter().enumerate() {
            answers.add(u32::try_from(number).unwrap(), Ok(outcome));
        }
        assert_eq!(answers.outcomes[..3], [2, 2, 1]);
        assert_eq!(answers.accepted, [0, 4]);
        assert_eq!(answers.error_count(), 0);
    }

    #[test]
    fn errors_are_counted_by_code_with_the_first_text() {
        let mut answers = Answers::default();
        answers.add(0, error("NOVOUCHER", "no stock"));
        answers.add(1, error("NOVOUCHER", "again"));
        answers.add(2, error("ERR", "syntax"));
        let seen =
            answers.errors.iter().map(|(code, e)| (code.as_str(), e.count, e.first.as_str()));
        assert_eq!(seen.collect::<Vec<_>>(), [("ERR", 1, "syntax"), ("NOVOUCHER", 2, "no stock")]);
    }

    #[test]
    fn an_integer_that_is_no_outcome_is_an_error() {
        let mut answers = Answers::default();
        answers.add(0, Ok(-1));
        answers.add(1, Ok(6));
        assert_eq!(answers.outcomes, [0; 6]);
        assert_eq!(answers.errors["UNKNOWN"].count, 2);
    }

    #[test]
    fn merged_answers_are_their_sum() {
        let (mut left, mut right) = (Answers::default(), Answers::default());
        left.add(0, Ok(0));
        right.add(1, Ok(0));
        right.add(2, Ok(1));
        right.add(3, error("ERR", "one"));
        left.merge(right);
        assert_eq!((left.outcomes[0], left.outcomes[1]), (2, 1));
        assert_eq!(left.accepted, [0, 1]);
        assert_eq!(left.errors["ERR"], Errors { count: 1, first: "one".to_owned() });
    }

    #[test]
    fn every_try_is_taken_once_and_none_after_a_stop() {
        let shared = Shared::new(10);
        let taken: Vec<u32> = std::iter::from_fn(|| shared.take(4)).flatten().collect();
        assert_eq!(taken, (0..10).collect::<Vec<_>>());

        let shared = Shared::new(10);
        shared.stopped.store(true, Relaxed);
        assert_eq!(shared.take(4), None);
    }
}
