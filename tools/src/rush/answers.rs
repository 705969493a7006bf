//! What was answered to the tries, counted by all connections together.

use std::collections::BTreeMap;

use domain::sale::TryOutcome;
use redis::RedisResult;
use seckill_tools::latency::Latencies;
use serde::Serialize;

use crate::decisions::{Decision, Payments};

/// What the server answered to the tries sent.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// How often each outcome was replied, in the order of `TryOutcome::ALL`.
    pub outcomes: [u64; TryOutcome::ALL.len()],
    /// Numbers of the accepted tries, in no order.
    pub accepted: Vec<u32>,
    /// The same of those that were put in the queue, or still are.
    pub waiting: Vec<u32>,
    /// Errors by code word.
    pub errors: BTreeMap<String, Errors>,
    /// Tries that ended in an error; the others are of payments.
    pub try_errors: u64,
    /// What became of accepted orders.
    pub payments: Payments,
    /// From the moment at which a try was sent, or with a rate was to be sent.
    pub latencies: Latencies,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Errors {
    pub count: u64,
    /// The first one's text.
    pub first: String,
}

impl Answers {
    pub fn add(&mut self, number: u32, answer: RedisResult<i64>) {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(error) => {
                self.try_errors += 1;
                return self.add_redis_error(&error);
            }
        };
        let Some(outcome) = TryOutcome::of_code(outcome) else {
            self.try_errors += 1;
            return self.add_error("UNKNOWN".to_owned(), format!("the outcome {outcome}"));
        };
        self.outcomes[outcome as usize] += 1;
        match outcome {
            TryOutcome::Accepted => self.accepted.push(number),
            TryOutcome::Waiting => self.waiting.push(number),
            _ => {}
        }
    }

    pub fn add_payments(&mut self, answers: Vec<(Decision, RedisResult<i64>)>) {
        for (decision, answer) in answers {
            match answer {
                Ok(answer) if self.payments.count(decision, answer) => {}
                Ok(answer) => self.add_error("UNKNOWN".to_owned(), format!("the answer {answer}")),
                Err(error) => self.add_redis_error(&error),
            }
        }
    }

    fn add_redis_error(&mut self, error: &redis::RedisError) {
        let code = error.code().unwrap_or("ERR").to_owned();
        let text = error.detail().map_or_else(|| error.to_string(), str::to_owned);
        self.add_error(code, text);
    }

    fn add_error(&mut self, code: String, text: String) {
        let errors = self.errors.entry(code).or_default();
        if errors.count == 0 {
            errors.first = text;
        }
        errors.count += 1;
    }

    /// Tries that were answered, also by an error.
    pub fn answered(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() + self.try_errors
    }

    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|errors| errors.count).sum()
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
        for (number, outcome) in [0, 1, 1, 2, 0, 6].into_iter().enumerate() {
            answers.add(u32::try_from(number).unwrap(), Ok(outcome));
        }
        assert_eq!(answers.outcomes[..3], [2, 2, 1]);
        assert_eq!(answers.error_count(), 0);
        assert_eq!((answers.accepted, answers.waiting), (vec![0, 4], vec![5]));
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
        answers.add(1, Ok(7));
        assert_eq!(answers.outcomes, [0; TryOutcome::ALL.len()]);
        assert_eq!(answers.errors["UNKNOWN"].count, 2);
    }
}
