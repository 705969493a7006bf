//! What replies of the server say about vouchers and streams.

use std::collections::HashMap;
use std::time::Duration;

use redis::{RedisError, Value, from_redis_value, from_redis_value_ref};
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::reading::{Group, Kind, Stream, Voucher};

/// A reply of SECKILL.INFO. The code word of an error is the state.
pub fn voucher(name: String, reply: Value) -> Voucher {
    let read = reply.extract_error().and_then(|reply| Ok(from_redis_value::<SaleInfo>(reply)?));
    let failed = |error: RedisError| {
        let state = error.code().unwrap_or("ERR").to_owned();
        SaleInfo { state, ..SaleInfo::default() }
    };
    let mut info = read.unwrap_or_else(failed);
    info.state = sanitize(&info.state);
    Voucher { name, info, overdue_ms: None, sold_out: None }
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
    voucher.info.buyers = from_redis_value_ref(buyers).ok();
    voucher.info.state = if left > 0 { "open" } else { "soldout" }.to_owned();
    true
}

/// The reply of TIME in milliseconds; None if the user may not ask.
pub fn clock_ms(time: &Value) -> Option<i64> {
    let (seconds, micros): (i64, i64) = from_redis_value_ref(time).ok()?;
    Some(seconds * 1_000 + micros / 1_000)
}

/// How long the first hold has been overdue, from the reply of ZRANGE of that hold and its score;
/// 0: it is not. None if it doesn't tell.
pub fn overdue_ms(now_ms: i64, first: &Value) -> Option<i64> {
    let first: Vec<(Value, i64)> = from_redis_value_ref(first).ok()?;
    Some(first.first().map_or(0, |(_, due_ms)| (now_ms - due_ms).max(0)))
}

/// The replies of XLEN and XINFO GROUPS. None: there is no such stream. Err: what to note.
pub fn stream(raw_name: &[u8], kind: Kind, replies: &[Value]) -> Result<Option<Stream>, String> {
    let [length, groups] = replies else { return Ok(None) };
    let (name, raw_name) = (sanitize_bytes(raw_name), raw_name.to_vec());
    let entries = match length {
        Value::Int(entries) => u64::try_from(*entries).unwrap_or(0),
        // In a cluster the stream is another node's.
        Value::ServerError(error) if error.code() == "MOVED" => return Ok(None),
        Value::ServerError(error) => return Err(format!("XLEN {name}: {}", error.code())),
        _ => return Ok(None),
    };
    let groups = match groups {
        Value::Array(groups) => groups.iter().map(|it| group(it, entries)).collect(),
        Value::ServerError(error) if entries > 0 => {
            return Err(format!("XINFO GROUPS {name}: {}", error.code()));
        }
        _ => return Ok(None),
    };
    Ok(Some(Stream { name, raw_name, kind, entries, groups }))
}

/// The shortest time for which a consumer of a group has been idle, by the reply of XINFO
/// CONSUMERS. Err: the code of the error.
pub fn idle(consumers: &Value) -> Result<Option<Duration>, String> {
    if let Value::ServerError(error) = consumers {
        return Err(error.code().to_owned());
    }
    let consumers: Vec<HashMap<String, Value>> =
        from_redis_value_ref(consumers).map_err(|_| "an unknown reply".to_owned())?;
    let idle = |of: &HashMap<String, Value>| from_redis_value_ref(of.get("idle")?).ok();
    Ok(consumers.iter().filter_map(idle).min().map(Duration::from_millis))
}

/// The names of groups may be any bytes. A server doesn't count for one that has read nothing.
fn group(reply: &Value, entries: u64) -> Group {
    let said: HashMap<String, Value> = from_redis_value_ref(reply).unwrap_or_default();
    let number = |name| from_redis_value_ref(said.get(name)?).ok();
    let name: Option<Vec<u8>> = said.get("name").and_then(|name| from_redis_value_ref(name).ok());
    let raw_name = name.unwrap_or_default();
    Group {
        name: sanitize_bytes(&raw_name),
        raw_name,
        consumers: number("consumers").unwrap_or(0),
        idle: None,
        read: number("entries-read").or((number("lag") >= Some(entries)).then_some(0)),
        pending: number("pending").unwrap_or(0),
        lag: number("lag"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(reply: &str) -> Value {
        redis::parse_redis_value(reply.replace('|', "\r\n").as_bytes()).unwrap()
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
        let at = |time, first| overdue_ms(clock_ms(&parse(time))?, &parse(first));
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
        let read = |length, groups| stream(b"s\xff", Kind::Orders, &[parse(length), parse(groups)]);
        let found = read(":5|", group).unwrap().unwrap();
        let want = Group {
            name: "g".to_owned(),
            raw_name: b"g".to_vec(),
            consumers: 2,
            pending: 3,
            ..Group::default()
        };
        assert_eq!((&*found.name, found.raw_name), (r"s\xff", b"s\xff".to_vec()));
        assert_eq!((found.entries, found.groups), (5, vec![want]));
        assert_eq!(read(":0|", "-ERR no such key|"), Ok(None));
        assert_eq!(read("-MOVED 1 a:1|", "-MOVED 1 a:1|"), Ok(None));
        assert_eq!(
            read("-WRONGTYPE x|", "-WRONGTYPE x|"),
            Err(r"XLEN s\xff: WRONGTYPE".to_owned())
        );
        assert!(read(":1|", "-NOPERM x|").is_err());
        let idle = |reply| super::idle(&parse(reply)).map(|idle| idle.map(|it| it.as_millis()));
        assert_eq!(idle("*2|*2|$4|idle|:70|*4|$4|idle|:9|$8|inactive|:80|"), Ok(Some(9)));
        assert_eq!(idle("*0|"), Ok(None));
        assert_eq!(idle("-NOPERM x|"), Err("NOPERM".to_owned()));
    }
}
