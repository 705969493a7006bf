//! A managed sale on the server: opened, asked how it stands, and read when it is over.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use domain::book::{Entry, State};
use futures_util::future::try_join_all;
use redis::{FromRedisValue, Value};
use seckill_tools::connection::Connection;
use seckill_tools::duration::millis;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::scan;
use seckill_tools::voucher_keys::VoucherKeys;
use serde::Serialize;

use crate::options::Options;

/// How often an audit is started over because the book changed.
const AUDITS_MAX: u32 = 5;

/// How a managed sale stands, all its shards together. Their rules are the same.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub held: i64,
    pub sold: i64,
    /// Orders in the queue.
    pub waiting: i64,
    /// Units per user at most.
    pub limit: i64,
    /// Milliseconds; None if orders are sold at once.
    pub hold_ms: Option<i64>,
}

impl Standing {
    pub async fn ask(connection: &Connection, shards: &[VoucherKeys]) -> Result<Standing> {
        let asked = shards.iter().map(async |names| {
            let mut ask = redis::cmd("SECKILL.INFO");
            let ask = ask.arg(&names.voucher);
            let info: SaleInfo = ask.query_async(&mut connection.clone()).await?;
            ensure!(info.managed, "voucher {} is there, but not managed", names.voucher);
            Ok(info)
        });
        let all: Vec<SaleInfo> = try_join_all(asked).await?;
        let sum = |of: fn(&SaleInfo) -> Option<i64>| {
            let add = |sum: i64, one: &SaleInfo| Some(sum.saturating_add(of(one)?));
            all.iter().try_fold(0, add).context("SECKILL.INFO lacks a number")
        };
        let rules = all.first().context("nothing is on sale")?;
        Ok(Standing {
            held: sum(|it| it.held)?,
            sold: sum(|it| it.sold)?,
            waiting: sum(|it| it.waiting)?,
            limit: rules.limit.context("SECKILL.INFO lacks the limit")?,
            hold_ms: rules.hold,
        })
    }
}

/// What SECKILL.AUDIT found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    pub total: i64,
    pub left: i64,
    pub held: i64,
    pub sold: i64,
    /// Users with a live order.
    pub buyers: i64,
    /// Where keys of the voucher disagree, a sentence each.
    pub differences: Vec<String>,
}

/// Audits in steps, so that a server that sells beside this is not kept busy.
async fn audit(connection: &mut Connection, voucher: &str) -> Result<Audit> {
    for _ in 0..AUDITS_MAX {
        let mut cursor = "0".to_owned();
        let sums = loop {
            let mut step = redis::cmd("SECKILL.AUDIT");
            step.arg(voucher).arg("CURSOR").arg(&cursor);
            let (next, sums): (String, HashMap<String, Value>) =
                step.query_async(connection).await?;
            if next == "0" {
                break sums;
            }
            cursor = next;
        };
        // Sums of a book that changed meanwhile are no audit.
        if of::<i64>(&sums, "changed")? == 0 {
            return audit_of(&sums);
        }
    }
    bail!("voucher {voucher} keeps changing: another client sells or releases it")
}

fn audit_of(reply: &HashMap<String, Value>) -> Result<Audit> {
    Ok(Audit {
        total: of(reply, "total")?,
        left: of(reply, "left")?,
        held: of(reply, "held")?,
        sold: of(reply, "sold")?,
        buyers: of(reply, "buyers")?,
        differences: of(reply, "differences")?,
    })
}

fn of<T: FromRedisValue>(map: &HashMap<String, Value>, name: &str) -> Result<T> {
    let value = map.get(name).with_context(|| format!("no {name} in the reply"))?;
    Ok(redis::from_redis_value_ref(value)?)
}

/// An order in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookedOrder {
    pub order_id: String,
    pub state: State,
    /// The order had its units once: it did not end in the queue, or is still there.
    pub was_accepted: bool,
    pub units: i64,
    pub user: String,
}

impl BookedOrder {
    /// None when `text` is no entry of a book.
    pub fn parse(order_id: String, text: &str) -> Option<BookedOrder> {
        let entry = Entry::parse(text.as_bytes()).ok()?;
        Some(BookedOrder {
            order_id,
            state: entry.state,
            was_accepted: entry.has_had_units(),
            units: entry.units.get(),
            user: String::from_utf8_lossy(entry.user).into_owned(),
        })
    }
}

/// What a managed voucher's own audit and its book say, when nobody sells it any more.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub audit: Audit,
    pub book: Vec<BookedOrder>,
}

impl Ledger {
    /// The ledgers of the shards, added up.
    pub async fn read(connection: &mut Connection, shards: &[VoucherKeys]) -> Result<Ledger> {
        let mut all = Ledger::default();
        for names in shards {
            let part = audit(connection, &names.voucher).await?;
            let sum = &mut all.audit;
            for (sum, part) in [
                (&mut sum.total, part.total),
                (&mut sum.left, part.left),
                (&mut sum.held, part.held),
                (&mut sum.sold, part.sold),
                (&mut sum.buyers, part.buyers),
            ] {
                *sum = sum.saturating_add(part);
            }
            sum.differences.extend(part.differences);
            // HSCAN may return an order twice while the hash grows or shrinks.
            let mut book = BTreeMap::new();
            scan::each(connection, "HSCAN", &names.book, |pair| {
                let [id, text] = pair.each_ref().map(|text| String::from_utf8_lossy(text));
                let order = BookedOrder::parse(id.clone().into_owned(), &text);
                let order = order.with_context(|| format!("the book holds \"{text}\""))?;
                book.insert(id.into_owned(), order);
                Ok(())
            })
            .await?;
            all.book.extend(book.into_values());
        }
        Ok(all)
    }
}

/// Makes the voucher. Fails when there is one of this name.
pub async fn create(
    connection: &mut Connection,
    names: &VoucherKeys,
    options: &Options,
) -> Result<()> {
    let managed = &options.managed;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut create = redis::cmd("SECKILL.CREATE");
    create.arg(&names.voucher).arg(options.stock);
    for (word, value) in [
        ("BEGIN", managed.begin_in.map(|wait| now.saturating_add(wait))),
        ("END", managed.end_in.map(|wait| now.saturating_add(wait))),
        ("HOLD", managed.hold),
    ] {
        if let Some(value) = value {
            create.arg(word).arg(millis(value));
        }
    }
    create.query_async::<()>(connection).await.context("opening the sale by SECKILL.CREATE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_with_any_user() {
        let entry = BookedOrder::parse("o1".to_owned(), "held:2:1700000000000:a:b").unwrap();
        assert_eq!((entry.units, entry.user.as_str(), entry.state.is_live()), (2, "a:b", true));
        let released = BookedOrder::parse("o1".to_owned(), "expired:1:0:").unwrap();
        assert!(!released.state.is_live() && released.user.is_empty());
        for wrong in ["", "sold", "sold:1:0", "sold:x:0:u"] {
            assert_eq!(BookedOrder::parse("o1".to_owned(), wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_audit_is_read_whole_or_not_at_all() {
        let number = |name: &str| (name.to_owned(), Value::Int(1));
        let mut reply: HashMap<String, Value> =
            ["total", "left", "held", "sold", "buyers"].map(number).into();
        assert!(audit_of(&reply).is_err());
        let line = Value::BulkString(b"buyers have no live order".to_vec());
        reply.insert("differences".to_owned(), Value::Array(vec![line]));
        let differences = vec!["buyers have no live order".to_owned()];
        let wanted = Audit { total: 1, left: 1, held: 1, sold: 1, buyers: 1, differences };
        assert_eq!(audit_of(&reply).unwrap(), wanted);
    }
}
