//! The reply of SECKILL.INFO, read in one place by all programs.

use std::collections::HashMap;

use redis::{FromRedisValue, ParsingError, Value, from_redis_value};

/// How a sale stands. What is None is not known of this voucher: an unmanaged one has no total and
/// no rules, and a managed one whose stock is gone has no units left and none sold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaleInfo {
    pub managed: bool,
    /// `scheduled`, `open`, `soldout` or `ended`.
    pub state: String,
    pub total: Option<i64>,
    pub left: Option<i64>,
    pub held: Option<i64>,
    pub sold: Option<i64>,
    pub buyers: Option<i64>,
    /// Orders in the queue for units.
    pub waiting: Option<i64>,
    /// The time window, in unix milliseconds; None if it has no such bound.
    pub begin: Option<i64>,
    pub end: Option<i64>,
    /// Units per user at most.
    pub limit: Option<i64>,
    /// Milliseconds; None if orders are sold at once.
    pub hold: Option<i64>,
    /// The id of this run of the voucher.
    pub sale: Option<i64>,
}

impl SaleInfo {
    /// The units of orders, or the buyers of an unmanaged voucher.
    pub fn taken(&self) -> Option<i64> {
        if self.managed { Some(self.held?.saturating_add(self.sold?)) } else { self.buyers }
    }
}

impl FromRedisValue for SaleInfo {
    /// An error where a field is missing, or is not a number where one belongs.
    fn from_redis_value(reply: Value) -> Result<Self, ParsingError> {
        let fields: HashMap<String, Value> = from_redis_value(reply)?;
        let value = |name: &str| {
            let missing = || ParsingError::from(format!("SECKILL.INFO has no field {name}"));
            fields.get(name).cloned().ok_or_else(missing)
        };
        let number = |name: &str| from_redis_value::<Option<i64>>(value(name)?);
        Ok(Self {
            managed: number("managed")? == Some(1),
            state: from_redis_value(value("state")?)?,
            total: number("total")?,
            left: number("left")?,
            held: number("held")?,
            sold: number("sold")?,
            buyers: number("buyers")?,
            waiting: number("waiting")?,
            begin: number("begin")?,
            end: number("end")?,
            limit: number("limit")?,
            hold: number("hold")?,
            sale: number("sale")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_whole_or_not_at_all() {
        let text = |text: &str| Value::BulkString(text.into());
        let mut reply = vec![text("managed"), Value::Int(1), text("state"), text("open")];
        reply.extend([text("left"), Value::Nil, text("more"), text("x")]);
        for name in
            ["total", "held", "sold", "buyers", "waiting", "begin", "end", "limit", "hold", "sale"]
        {
            let read = from_redis_value::<SaleInfo>(Value::Array(reply.clone()));
            assert!(read.unwrap_err().to_string().contains("has no field"));
            reply.extend([text(name), Value::Int(2)]);
        }
        let info: SaleInfo = from_redis_value(Value::Array(reply)).unwrap();
        assert_eq!((info.managed, info.state.as_str()), (true, "open"));
        assert_eq!((info.left, info.held, info.sale), (None, Some(2), Some(2)));
    }
}
