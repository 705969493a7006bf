//! Tries as commands: one each, or many on one voucher in one SECKILL.MTRY. Pure.

use std::collections::BTreeMap;

use redis::{Cmd, RedisResult, Value};

/// The command of one try or of many, and the numbers of the tries.
pub struct Tries {
    pub command: Cmd,
    pub numbers: Vec<u32>,
}

/// The user, the voucher and the order id of a try.
pub struct One<'a> {
    pub number: u32,
    pub voucher: &'a str,
    pub user: String,
    pub order_id: String,
}

/// Gathers tries into commands of at most `size` tries on one voucher, in their order.
pub fn gather<'a>(tries: impl IntoIterator<Item = One<'a>>, size: usize) -> Vec<Tries> {
    let mut whole = Vec::new();
    let mut begun: BTreeMap<&str, Tries> = BTreeMap::new();
    for One { number, voucher, user, order_id } in tries {
        let batch = begun.entry(voucher).or_insert_with(|| {
            let mut command = redis::cmd("SECKILL.MTRY");
            command.arg(voucher);
            Tries { command, numbers: Vec::new() }
        });
        batch.command.arg(user).arg(order_id);
        batch.numbers.push(number);
        if batch.numbers.len() >= size {
            whole.extend(begun.remove(voucher));
        }
    }
    whole.extend(begun.into_values());
    whole
}

/// What each try was answered. An error of the whole command is that of each.
pub fn answers(numbers: &[u32], reply: RedisResult<Value>) -> Vec<(u32, RedisResult<i64>)> {
    let each = |answer: &dyn Fn() -> RedisResult<i64>| {
        numbers.iter().map(|number| (*number, answer())).collect()
    };
    match reply {
        Ok(Value::Array(answers)) if answers.len() == numbers.len() => {
            let answers = answers.into_iter().map(outcome);
            numbers.iter().copied().zip(answers).collect()
        }
        Ok(other) => each(&|| outcome(other.clone())),
        Err(error) => each(&|| Err(error.clone())),
    }
}

/// The outcome of a try alone, or the error.
fn outcome(answer: Value) -> RedisResult<i64> {
    answer.extract_error().and_then(|answer| Ok(redis::from_redis_value(answer)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: u32, voucher: &str) -> One<'_> {
        One { number, voucher, user: format!("u{number}"), order_id: format!("o{number}") }
    }

    fn reply(wire: &str) -> Value {
        redis::parse_redis_value(wire.as_bytes()).unwrap()
    }

    #[test]
    fn batches_are_of_one_voucher_and_not_too_long() {
        let tries = [one(1, "a"), one(2, "b"), one(3, "a"), one(4, "a"), one(5, "b"), one(6, "a")];
        let batches = gather(tries, 3);
        let numbers: Vec<_> = batches.iter().map(|batch| batch.numbers.clone()).collect();
        assert_eq!(numbers, [vec![1, 3, 4], vec![6], vec![2, 5]]);
        let packed = batches[2].command.get_packed_command();
        let words = ["SECKILL.MTRY", "b", "u2", "o2", "u5", "o5"];
        let wire: String = words.map(|word| format!("${}\r\n{word}\r\n", word.len())).concat();
        assert_eq!(String::from_utf8(packed).unwrap(), format!("*6\r\n{wire}"));
    }

    #[test]
    fn each_try_has_its_own_answer() {
        let got = answers(&[4, 5, 6], Ok(reply("*3\r\n:0\r\n-ORDERID not yours\r\n:2\r\n")));
        assert_eq!((got[0].0, got[0].1.as_ref().ok()), (4, Some(&0)));
        assert_eq!(got[1].1.as_ref().unwrap_err().code(), Some("ORDERID"));
        assert_eq!((got[2].0, got[2].1.as_ref().ok()), (6, Some(&2)));
    }

    #[test]
    fn an_error_is_that_of_each_try() {
        let error = reply("-NOVOUCHER none\r\n").extract_error();
        let got = answers(&[4, 5], error);
        assert_eq!(got.len(), 2);
        let codes = got.iter().map(|(_, answer)| answer.as_ref().unwrap_err().code());
        assert!(codes.into_iter().all(|code| code == Some("NOVOUCHER")));
        // An array of another length answers nobody.
        let got = answers(&[4, 5], Ok(reply("*1\r\n:0\r\n")));
        assert!(got.iter().all(|(_, answer)| answer.is_err()));
    }
}
