//! What was answered to the tries, counted.

use std::collections::BTreeMap;

use domain::sale::Outcome;
use redis::RedisResult;
use seckill_tools::latency::Latencies;
use serde::Serialize;

use crate::decisions::Payments;

/// What the server answered to the tries sent.
#[derive(Debug, Default)]
pub struct Answers {
    /// How often each outcome was replied, in the order of `Outcome::ALL`.
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Numbers of the accepted tries, in no order.
    pub accepted: Vec<u32>,
    /// The same of those that were put in the queue, or still are.
    pub waiting: Vec<u32>,
    /// Errors by code word.
    pub errors: BTreeMap<String, Errors>,
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
            Err(error) => return self.add_redis_error(&error),
        };
        let Some(outcome) = Outcome::of_code(outcome) else {
            return self.add_error("UNKNOWN".to_owned(), format!("the outcome {outcome}"));
        };
        self.outcomes[outcome as usize] += 1;
        match outcome {
            Outcome::Accepted => self.accepted.push(number),
            Outcome::Waiting => self.waiting.push(number),
            _ => {}
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

    pub fn merge(&mut self, other: Answers) {
        for (sum, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += count;
        }
        self.accepted.extend(other.accepted);
        self.waiting.extend(other.waiting);
        self.payments.merge(&other.payments);
        self.latencies.merge(&other.latencies);
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
        assert_eq!(answers.outcomes, [0; Outcome::ALL.len()]);
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
}
