//! What replies of the server say about vouchers and streams.

use std::collections::HashMap;

use redis::{RedisError, Value, from_redis_value};
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::reading::{Group, Stream, Voucher};

/// A reply of SECKILL.INFO. The code word of an error is the state.
pub fn voucher(name: String, reply: Value) -> Voucher {
    let read = reply.extract_error().and_then(|reply| Ok(from_redis_value::<SaleInfo>(reply)?));
    let failed = |error: RedisError| {
        let state = error.code().unwrap_or("ERR").to_owned();
        SaleInfo { state, ..SaleInfo::default() }
    };
    let mut info = read.unwrap_or_else(failed);
    info.state = sanitize(&info.state);
    Voucher { name, info, overdue_ms: None }
}

/// What the replies of GET on the stock key and SCARD on the buyers say, where SECKILL.INFO can't
/// be asked for. False when they say nothing either.
pub fn by_keys(voucher: &mut Voucher, replies: &[Value]) -> bool {
    let [stock, buyers] = replies else { return false };
    let Value::BulkString(stock) = stock else {
        if *stock == Value::Nil {
            "NOVOUCHER".clone_into(&mut voucher.info.state);
            return true;
        }
        return false;
    };
    let Some(left) = domain::integer::parse(stock) else { return false };
    voucher.info.left = Some(left);
    voucher.info.buyers = integer(buyers);
    voucher.info.state = if left > 0 { "open" } else { "soldout" }.to_owned();
    true
}

/// How long the first hold has been overdue, from the replies of TIME and of ZRANGE of that hold
/// and its score; 0: it is not. None if they don't tell, for example because the user may not ask.
pub fn overdue_ms(time: &Value, first: &Value) -> Option<i64> {
    let (Value::Array(time), Value::Array(first)) = (time, first) else { return None };
    let number = |value: &Value| text(value).parse::<i64>().ok();
    let [seconds, micros] = time.as_slice() else { return None };
    let now_ms = number(seconds)? * 1_000 + number(micros)? / 1_000;
    match first.as_slice() {
        [] => Some(0),
        [_, due_ms] => Some((now_ms - number(due_ms)?).max(0)),
        _ => None,
    }
}

/// The replies of XLEN and XINFO GROUPS. None: there is no such stream. Err: what to note.
pub fn stream(name: String, replies: &[Value]) -> Result<Option<Stream>, String> {
    let [length, groups] = replies else { return Ok(None) };
    let entries = match length {
        Value::Int(entries) => u64::try_from(*entries).unwrap_or(0),
        // In a cluster the stream is another node's.
        Value::ServerError(error) if error.code() == "MOVED" => return Ok(None),
        Value::ServerError(error) => return Err(format!("XLEN {name}: {}", error.code())),
        _ => return Ok(None),
    };
    let groups = match groups {
        Value::Array(groups) => groups.iter().map(group).collect(),
        Value::ServerError(error) if entries > 0 => {
            return Err(format!("XINFO GROUPS {name}: {}", error.code()));
        }
        _ => return Ok(None),
    };
    Ok(Some(Stream { name, entries, groups }))
}

fn group(reply: &Value) -> Group {
    let Value::Array(parts) = reply else { return Group::default() };
    let said = map(parts);
    let number =
        |name: &str| said.get(name).copied().and_then(integer).and_then(|n| u64::try_from(n).ok());
    Group {
        name: said.get("name").copied().map(text).unwrap_or_default(),
        consumers: number("consumers").unwrap_or(0),
        pending: number("pending").unwrap_or(0),
        lag: number("lag"),
    }
}

/// Names and values in turn.
fn map(parts: &[Value]) -> HashMap<String, &Value> {
    parts.chunks_exact(2).map(|pair| (text(&pair[0]), &pair[1])).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => sanitize_bytes(bytes),
        Value::SimpleString(text) => sanitize(text),
        _ => String::new(),
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(reply: &str) -> Value {
        redis::parse_redis_value(reply.replace('|', "\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_voucher_is_understood() {
        let numbers = ["total", "sold", "buyers", "waiting", "limit", "hold", "sale"];
        let numbers = numbers.map(|name| format!("${}|{name}|:1|", name.len())).concat();
        let known = "$7|managed|:1|$5|state|$4|open|$4|left|:2|$4|held|$-1|";
        let voucher = voucher("7".to_owned(), parse(&format!("*22|{known}{numbers}")));
        let info = voucher.info;
        assert!(info.managed);
        assert_eq!((info.state.as_str(), info.left, info.held), ("open", Some(2), None));
        let refused = super::voucher("7".to_owned(), parse("-NOPERM no|"));
        assert_eq!((refused.info.state.as_str(), refused.info.left), ("NOPERM", None));
    }

    #[test]
    fn keys_tell_what_the_module_does_not() {
        let mut voucher = Voucher::default();
        voucher.info.state = "ERR".to_owned();
        assert!(!by_keys(&mut voucher, &[parse("-WRONGTYPE x|"), parse(":0|")]));
        assert_eq!(voucher.info.state, "ERR");
        assert!(by_keys(&mut voucher, &[parse("$2|12|"), parse(":3|")]));
        assert_eq!((voucher.info.left, voucher.info.buyers), (Some(12), Some(3)));
        assert!(by_keys(&mut voucher, &[parse("$-1|"), parse(":0|")]));
        assert_eq!(voucher.info.state, "NOVOUCHER");
    }

    #[test]
    fn a_hold_is_overdue_by_the_clock_of_the_server() {
        let at = |time, first| overdue_ms(&parse(time), &parse(first));
        let time = "*2|$10|1795344856|$6|500999|";
        assert_eq!(at(time, "*2|$1|o|$13|1795344855000|"), Some(1_500));
        assert_eq!(at(time, "*2|$1|o|$13|1795344857000|"), Some(0));
        assert_eq!(at(time, "*0|"), Some(0));
        assert_eq!(at(time, "-NOPERM no|"), None);
        assert_eq!(at("-NOPERM no|", "*0|"), None);
    }

    #[test]
    fn a_stream_is_understood() {
        let group = "*1|*8|$4|name|$1|g|$9|consumers|:2|$7|pending|:3|$3|lag|$-1|";
        let read = |length, groups| stream("s".to_owned(), &[parse(length), parse(groups)]);
        let found = read(":5|", group).unwrap().unwrap();
        let want = Group { name: "g".to_owned(), consumers: 2, pending: 3, lag: None };
        assert_eq!((found.entries, found.groups), (5, vec![want]));
        assert_eq!(read(":0|", "-ERR no such key|"), Ok(None));
        assert_eq!(read("-MOVED 1 a:1|", "-MOVED 1 a:1|"), Ok(None));
        assert_eq!(read("-WRONGTYPE x|", "-WRONGTYPE x|"), Err("XLEN s: WRONGTYPE".to_owned()));
        assert!(read(":1|", "-NOPERM x|").is_err());
    }
}
